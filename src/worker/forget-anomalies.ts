import { DAY_MS, HOUR_MS } from '../rules/durations.ts'
import { expireAnomalies } from '../store/billing/usage-anomalies.ts'
import type { Db } from '../store/database.ts'
import { untilNoneIsLeft, type Job } from './job.ts'

/** Providers bill by the month: whoever questions an invoice of the last quarter still finds what was odd. */
const KEPT_MS = 90 * DAY_MS

/** Forgets providers' reports of usage that could not be right. */
export function forgetAnomaliesJob({ db }: { db: Db }): Job {
  return {
    name: 'forget usage anomalies',
    everyMs: HOUR_MS,
    run: () => untilNoneIsLeft((most) => expireAnomalies(db, KEPT_MS, most)),
  }
}
