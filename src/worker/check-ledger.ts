import type { Log } from '../platform/log.ts'
import type { Metrics } from '../metrics.ts'
import { MINUTE_MS } from '../rules/durations.ts'
import { checkLedger } from '../store/billing/ledger-check/ledger-check.ts'
import type { Db } from '../store/database.ts'
import type { Job } from './job.ts'

/** A broken ledger goes unnoticed for no longer than this. */
const CHECK_EVERY_MS = MINUTE_MS

export interface LedgerCheckJobOptions {
  db: Db
  log: Log
  metrics: Pick<Metrics, 'auditViolations' | 'auditSeconds' | 'auditFinished'>
  leaseMs: number
  /** A pass over a large ledger must not delay the end of the process. */
  signal: AbortSignal
}

export function checkLedgerJob({ sweepHolds, ...options }: LedgerCheckJobOptions & { sweepHolds: Job['run'] }): Job {
  return {
    name: 'audit',
    everyMs: CHECK_EVERY_MS,
    async run() {
      // Holds that were not swept while no worker ran, or while the store was away, are no defect of the ledger.
      await sweepHolds().catch(() => {}) // its own job tells of it
      await reportLedgerCheck(options)
    },
  }
}

/** Checks the ledger and says so in the metrics; whoever watches them also notices when it is no longer checked. */
export async function reportLedgerCheck({ db, log, metrics, leaseMs, signal }: LedgerCheckJobOptions): Promise<void> {
  const result = await checkLedger(db, { isFull: false, leaseMs, signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  if (!result) return
  const { verdicts, seconds, isFull } = result
  for (const { invariant, violations, examples } of verdicts) {
    metrics.auditViolations.set({ invariant }, violations)
    if (violations > 0) log.error({ invariant, violations, examples }, 'the ledger is broken')
  }
  metrics.auditSeconds.set({ pass: isFull ? 'full' : 'incremental' }, seconds)
  metrics.auditFinished.setToCurrentTime()
}
