import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { audit } from '../store/billing/ledger-check.ts'
import type { Db } from '../store/database.ts'

export interface AuditJobOptions {
  db: Db
  log: Log
  metrics: Pick<Metrics, 'auditViolations' | 'auditSeconds' | 'auditFinished'>
  leaseMs: number
  /** A pass over a large ledger must not delay the end of the process. */
  signal: AbortSignal
}

/** Checks the ledger and says so in the metrics; whoever watches them also notices when it is no longer checked. */
export async function auditLedger({ db, log, metrics, leaseMs, signal }: AuditJobOptions): Promise<void> {
  const result = await audit(db, { isFull: false, leaseMs, signal }).catch((error: unknown) => {
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
