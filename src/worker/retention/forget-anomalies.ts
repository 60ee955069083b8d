import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import { expireAnomalies } from '../../store/billing/usage-anomalies.ts'
import type { Db } from '../../store/database.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets providers' reports of usage that could not be right. */
export function forgetAnomaliesJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget usage anomalies',
    everyMs: HOUR_MS,
    run: () =>
      untilNoneIsLeft(
        (most) => expireAnomalies(db, KEPT_MS.usageAnomalies, most),
        metrics.rowsErased.labels('usage_anomalies'),
      ),
  }
}
