import { DAY_MS, HOUR_MS } from '../rules/durations.ts'
import { expireThrottles } from '../store/accounts/throttles.ts'
import type { Db } from '../store/database.ts'
import { untilNoneIsLeft, type Job } from './job.ts'

/** The longest time over which attempts are counted. */
const KEPT_MS = DAY_MS

/** Forgets attempts (to sign in, to prove something) that count no more. */
export function forgetAttemptsJob({ db }: { db: Db }): Job {
  return {
    name: 'forget attempts',
    everyMs: HOUR_MS,
    run: () => untilNoneIsLeft((most) => expireThrottles(db, KEPT_MS, most)),
  }
}
