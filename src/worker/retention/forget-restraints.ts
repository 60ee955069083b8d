import type { Metrics } from '../../metrics.ts'
import { MINUTE_MS } from '../../rules/durations.ts'
import type { Db } from '../../store/database.ts'
import { expireRestraints } from '../../store/recommendations/records.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets what conversations are spared (what they were shown, that they are sensitive) once that is over. */
export function forgetRestraintsJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget restraints',
    everyMs: MINUTE_MS,
    run: () =>
      untilNoneIsLeft((most) => expireRestraints(db, most), metrics.rowsErased.labels('conversation_restraints')),
  }
}
