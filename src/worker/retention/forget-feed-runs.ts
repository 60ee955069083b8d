import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import type { Db } from '../../store/database.ts'
import { expireFeedRuns } from '../../store/offers/feeds.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets what imports of before did. */
export function forgetFeedRunsJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget feed runs',
    everyMs: HOUR_MS,
    run: () =>
      untilNoneIsLeft((most) => expireFeedRuns(db, KEPT_MS.feedRuns, most), metrics.rowsErased.labels('feed_runs')),
  }
}
