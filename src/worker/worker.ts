import { every } from '../platform/every.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { BEATS_PER_LEASE, IDEMPOTENCY_KEPT_MS, LONGEST_CALL_MS } from '../rules/limits.ts'
import { expireContent } from '../store/conversations.ts'
import type { Db } from '../store/database.ts'
import { forgetDeadGateways } from '../store/gateways.ts'
import { expireKeys } from '../store/idempotency.ts'
import { ensurePartitions, sweepHolds } from '../store/wallets.ts'
import { auditLedger } from './audit.ts'

/** Background work. Every job is idempotent and safe to run in several workers at once. */
export interface Worker {
  stop(): void
}

const EXPIRE_EVERY_MS = 60_000
const AUDIT_EVERY_MS = 60_000
const HOUSEKEEPING_EVERY_MS = 3_600_000
const ROWS_PER_STATEMENT = 1_000

export interface WorkerOptions {
  db: Db
  log: Log
  metrics: Metrics
  leaseMs: number
}

export function createWorker({ db, log, metrics, leaseMs }: WorkerOptions): Worker {
  const sweep = () => sweepHolds(db, leaseMs, LONGEST_CALL_MS, ROWS_PER_STATEMENT)
  const expireText = () => expireContent(db, ROWS_PER_STATEMENT)
  const expireIdempotency = () => expireKeys(db, IDEMPOTENCY_KEPT_MS, ROWS_PER_STATEMENT)
  const stopping = new AbortController()
  const checkLedger = () => auditLedger({ db, log, metrics, leaseMs, signal: stopping.signal })
  const jobs = [
    every(leaseMs / BEATS_PER_LEASE, () => untilNoneIsLeft(sweep, metrics.holdsSwept), 'sweep holds', log),
    every(EXPIRE_EVERY_MS, () => untilNoneIsLeft(expireText, metrics.messagesExpired), 'expire content', log),
    every(EXPIRE_EVERY_MS, () => untilNoneIsLeft(expireIdempotency), 'expire idempotency keys', log),
    every(AUDIT_EVERY_MS, checkLedger, 'audit', log),
    every(HOUSEKEEPING_EVERY_MS, () => ensurePartitions(db), 'partitions', log),
    every(HOUSEKEEPING_EVERY_MS, () => forgetDeadGateways(db), 'forget gateways', log),
  ]
  return {
    stop() {
      for (const job of jobs) job.stop()
      stopping.abort()
    },
  }
}

/** Many small statements, so that none holds its locks for long. */
async function untilNoneIsLeft(work: () => Promise<number>, counter?: { inc(by: number): void }): Promise<void> {
  for (let done = await work(); done > 0; done = await work()) counter?.inc(done)
}
