import type { Metrics } from '../../metrics.ts'
import { FIRST_UUID } from '../../platform/uuid.ts'
import { MINUTE_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import type { Db } from '../../store/database.ts'
import { eraseRemovedOffers } from '../../store/offers/offers.ts'
import { completeHeadlines } from '../../store/recommendations/records.ts'
import { forAWhile, untilNoneIsLeft, type Job } from '../job.ts'

/**
 * Erases offers that were removed a while ago. Not before every recommendation of the version before this one has been given
 * its headline: what was recommended must stay readable.
 */
export function forgetOffersJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  let completedUpTo = FIRST_UUID
  const erase = (most: number) => eraseRemovedOffers(db, KEPT_MS.removedOffers, most)
  return {
    name: 'forget offers',
    everyMs: MINUTE_MS,
    async run() {
      const isComplete = await forAWhile(async (most) => {
        const { reached, seen } = await completeHeadlines(db, completedUpTo, most)
        completedUpTo = reached
        return seen === most
      })
      if (!isComplete) return
      await untilNoneIsLeft(erase, metrics.rowsErased.labels('offers'))
    },
  }
}
