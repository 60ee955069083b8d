import { MINUTE_MS } from '../rules/durations.ts'
import { grantDueTrialCredits } from '../store/billing/trial-credit.ts'
import type { Db } from '../store/database.ts'
import { untilNoneIsLeft, type Job } from './job.ts'

/** Gives trial credit to whoever was activated after their domain was verified: the check of the domain gave them none. */
export function grantTrialCreditsJob({ db }: { db: Db }): Job {
  return {
    name: 'grant trial credit',
    everyMs: MINUTE_MS,
    run: () => untilNoneIsLeft((most) => grantDueTrialCredits(db, most)),
  }
}
