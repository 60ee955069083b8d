import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import type { Db } from '../../store/database.ts'
import { expireChances } from '../../store/offers/campaign-chances.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets how often campaigns could have been recommended long ago: what limits them is told of the last days. */
export function forgetCampaignChancesJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget campaign chances',
    everyMs: HOUR_MS,
    run: () =>
      untilNoneIsLeft(
        (most) => expireChances(db, KEPT_MS.campaignChances, most),
        metrics.rowsErased.labels('campaign_chances'),
      ),
  }
}
