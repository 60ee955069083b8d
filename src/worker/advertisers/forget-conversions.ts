import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import type { Db } from '../../store/database.ts'
import { expireUncountedConversions } from '../../store/recommendations/conversions.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets what advertisers told of that does not count. */
export function forgetConversionsJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget conversions',
    everyMs: HOUR_MS,
    run: () =>
      untilNoneIsLeft(
        (most) => expireUncountedConversions(db, KEPT_MS.uncountedConversions, most),
        metrics.rowsErased.labels('conversions'),
      ),
  }
}
