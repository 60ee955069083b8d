import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import type { Db } from '../../store/database.ts'
import { expireReports } from '../../store/recommendations/reader-reports.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets what readers have reported long ago. */
export function forgetReportsJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget reader reports',
    everyMs: HOUR_MS,
    run: () =>
      untilNoneIsLeft(
        (most) => expireReports(db, KEPT_MS.readerReports, most),
        metrics.rowsErased.labels('recommendation_reports'),
      ),
  }
}
