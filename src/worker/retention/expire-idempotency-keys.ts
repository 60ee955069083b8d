import type { Metrics } from '../../metrics.ts'
import { MINUTE_MS } from '../../rules/durations.ts'
import { IDEMPOTENCY_KEPT_MS } from '../../rules/limits.ts'
import { expireKeys } from '../../store/calls/idempotency.ts'
import type { Db } from '../../store/database.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets Idempotency-Keys, and the answers that are kept with them: those are what models said to people. */
export function expireIdempotencyKeysJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'expire idempotency keys',
    everyMs: MINUTE_MS,
    run: () =>
      untilNoneIsLeft(
        (most) => expireKeys(db, IDEMPOTENCY_KEPT_MS, most),
        metrics.rowsErased.labels('idempotency_keys'),
      ),
  }
}
