import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import type { Db } from '../../store/database.ts'
import { expireReports } from '../../store/recommendations/reader-reports.ts'
import { expireOutcomes } from '../../store/recommendations/records.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets why replies of before had a recommendation or had none. */
export function forgetOutcomesJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget recommendation outcomes',
    everyMs: HOUR_MS,
    run: () =>
      untilNoneIsLeft(
        (most) => expireOutcomes(db, KEPT_MS.recommendationOutcomes, most),
        metrics.rowsErased.labels('recommendation_outcomes'),
      ),
  }
}

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
