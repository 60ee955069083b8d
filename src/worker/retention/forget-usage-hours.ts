import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import { expireUsageHours } from '../../store/billing/usage-roll-up.ts'
import type { Db } from '../../store/database.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Erases usage by hour once it is only asked for by day. */
export function forgetUsageHoursJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget usage hours',
    everyMs: HOUR_MS,
    run: () =>
      untilNoneIsLeft(
        (most) => expireUsageHours(db, KEPT_MS.usageHours, most),
        metrics.rowsErased.labels('usage_hours'),
      ),
  }
}
