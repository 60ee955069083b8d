import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import {
  forgetEndUserCounts,
  forgetEndUserDays,
  forgetEndUsers,
  forgetErasures,
  listProjectsOfCountedEndUsers,
} from '../../store/calls/end-users.ts'
import type { Db } from '../../store/database.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets end users a while after their last call, the sums of their days, and what was counted in months that are over. */
export function forgetEndUsersJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  const erased = (table: string) => metrics.rowsErased.labels(table)
  return {
    name: 'forget end users',
    everyMs: HOUR_MS,
    async run() {
      await untilNoneIsLeft((most) => forgetEndUsers(db, KEPT_MS.endUsers, most), erased('end_users'))
      await untilNoneIsLeft((most) => forgetEndUserDays(db, KEPT_MS.endUsers, most), erased('end_user_days'))
      await untilNoneIsLeft((most) => forgetErasures(db, KEPT_MS.erasures, most), erased('end_user_erasures'))
      for (const project of await listProjectsOfCountedEndUsers(db)) {
        await untilNoneIsLeft((most) => forgetEndUserCounts(db, project, most), erased('limit_counts'))
      }
    },
  }
}
