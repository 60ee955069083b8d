import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import { expireThrottles } from '../../store/accounts/throttles.ts'
import type { Db } from '../../store/database.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets attempts (to sign in, to prove something) that count no more. */
export function forgetAttemptsJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget attempts',
    everyMs: HOUR_MS,
    run: () =>
      untilNoneIsLeft((most) => expireThrottles(db, KEPT_MS.throttles, most), metrics.rowsErased.labels('throttles')),
  }
}
