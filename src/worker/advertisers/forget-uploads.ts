import type { Metrics } from '../../metrics.ts'
import { MINUTE_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import type { Db } from '../../store/database.ts'
import { expireUploads } from '../../store/offers/feed-uploads.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets files that members have sent: what was published is in the feed, and what was not is sent again. */
export function forgetUploadsJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget uploaded feeds',
    everyMs: MINUTE_MS,
    run: () =>
      untilNoneIsLeft(
        (most) => expireUploads(db, KEPT_MS.feedUploads, most),
        metrics.rowsErased.labels('feed_uploads'),
      ),
  }
}
