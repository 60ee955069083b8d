import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import type { Db } from '../../store/database.ts'
import { expireAdvertiserDays, expireOfferMonths } from '../../store/offers/advertiser-days.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets days that advertisers are no longer told of. */
export function forgetAdvertiserDaysJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget advertiser days',
    everyMs: HOUR_MS,
    async run() {
      const erased = metrics.rowsErased
      await untilNoneIsLeft(
        (most) => expireAdvertiserDays(db, KEPT_MS.advertiserDays, most),
        erased.labels('advertiser_days'),
      )
      await untilNoneIsLeft(
        (most) => expireOfferMonths(db, KEPT_MS.advertiserDays, most),
        erased.labels('advertiser_offer_months'),
      )
    },
  }
}
