import type { Metrics } from '../metrics.ts'
import { BEATS_PER_LEASE, LONGEST_CALL_MS } from '../rules/limits.ts'
import { sweepHolds } from '../store/billing/wallets.ts'
import type { Db } from '../store/database.ts'
import { untilNoneIsLeft, type Job } from './job.ts'

export interface SweepHoldsOptions {
  db: Db
  metrics: Pick<Metrics, 'holdsSwept'>
  leaseMs: number
}

/**
 * Releases the credit that dead gateways held. As often as living ones say that they live: a publisher's credit is set
 * aside for a lease and one turn at the longest.
 */
export function sweepHoldsJob({ db, metrics, leaseMs }: SweepHoldsOptions): Job {
  const sweepSome = (most: number) => sweepHolds(db, leaseMs, LONGEST_CALL_MS, most)
  let sweeping: Promise<void> | undefined
  return {
    name: 'sweep holds',
    everyMs: leaseMs / BEATS_PER_LEASE,
    // One at a time, so that nothing is counted twice: the check of the ledger sweeps, too.
    run: () =>
      (sweeping ??= untilNoneIsLeft(sweepSome, metrics.holdsSwept).finally(() => {
        sweeping = undefined
      })),
  }
}
