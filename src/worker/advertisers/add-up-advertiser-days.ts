import { MINUTE_MS } from '../../rules/durations.ts'
import { findSettledBoundary } from '../../store/billing/usage-roll-up.ts'
import type { Db } from '../../store/database.ts'
import { addUpAdvertiserDays } from '../../store/offers/advertiser-days.ts'
import type { Job } from '../job.ts'
import { inSteps } from '../roll-up-usage.ts'

const ADD_UP_EVERY_MS = MINUTE_MS
/** A recommendation is written down before it is shown, and that it was delivered a moment later. */
const MARGIN_MS = 2 * MINUTE_MS

/** Adds up what advertisers are told of their recommendations, by day. Reports are behind by a few minutes. */
export function addUpAdvertiserDaysJob({ db, signal }: { db: Db; signal: AbortSignal }): Job {
  return {
    name: 'add up advertiser days',
    everyMs: ADD_UP_EVERY_MS,
    async run() {
      const boundary = await findSettledBoundary(db, MARGIN_MS)
      await inSteps((stepMs) => addUpAdvertiserDays(db, boundary, stepMs), boundary, signal)
    },
  }
}
