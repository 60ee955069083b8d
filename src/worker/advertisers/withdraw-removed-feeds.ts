import { SECOND_MS } from '../../rules/durations.ts'
import type { Db } from '../../store/database.ts'
import { listRemovedFeeds, noteWithdrawn, withdrawOffers } from '../../store/offers/feed-schedule.ts'
import { forAWhile, type Job } from '../job.ts'

const LOOK_EVERY_MS = 10 * SECOND_MS
const FEEDS_AT_ONCE = 20

/** Takes away the offers of feeds that were removed. None of them is recommended meanwhile. */
export function withdrawRemovedFeedsJob({ db }: { db: Db }): Job {
  return {
    name: 'withdraw removed feeds',
    everyMs: LOOK_EVERY_MS,
    async run() {
      for (const feedId of await listRemovedFeeds(db, FEEDS_AT_ONCE)) {
        if (!(await forAWhile(async (most) => (await withdrawOffers(db, feedId, most)) > 0))) return
        await noteWithdrawn(db, feedId)
      }
    },
  }
}
