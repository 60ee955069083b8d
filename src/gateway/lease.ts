import type { Metrics } from '../metrics.ts'
import type { Secrets } from '../platform/secrets.ts'
import { NO_USAGE } from '../rules/billing/usage.ts'
import { clockAheadMs } from '../rules/clock-difference.ts'
import type { Db } from '../store/database.ts'
import { beat, findOldHolds } from '../store/billing/gateways.ts'
import { giveUpOrphanedKeys } from '../store/calls/idempotency.ts'
import type { Ledger } from '../store/billing/ledger/ledger.ts'
import type { Settlement } from '../store/billing/settlement.ts'
import type { RunningCalls } from './call.ts'

/** Keeps the holds of this gateway alive, and gives back those that none of its calls has any more. */
export interface Lease {
  renew(): Promise<void>
  /** Was the store reached lately? */
  readonly isFresh: boolean
  /** By how much the clock of this host was ahead of the store's then; negative where it was behind. */
  readonly clockAheadMs: number
}

export interface LeaseOptions {
  db: Db
  gatewayId: string
  ledger: Ledger
  running: RunningCalls
  metrics: Pick<Metrics, 'holdsOrphaned'>
  beatMs: number
  secrets: Pick<Secrets, 'versions'>
  statements?: typeof STATEMENTS
}

/** The statements that it sends to the store. A simulation brings its own. */
const STATEMENTS = { beat, findOldHolds, giveUpOrphanedKeys }

/** A hold this old that no running call belongs to was granted by a statement whose answer was lost. */
const ORPHAN_AFTER_MS = 10_000
/** The next beat finds more. */
const ORPHANS_MAX = 100

export function createLease({ statements = STATEMENTS, ...options }: LeaseOptions): Lease {
  const { db, gatewayId, ledger, running, metrics, beatMs, secrets } = options
  let lastBeatMs = Number.NEGATIVE_INFINITY
  let aheadMs = 0
  return {
    async renew() {
      const askedMs = Date.now()
      const now = await statements.beat(db, gatewayId, secrets.versions)
      aheadMs = clockAheadMs(now, { askedMs, answeredMs: Date.now() })
      lastBeatMs = performance.now()
      const ids = [...running.keys()]
      for (const hold of await statements.findOldHolds(db, gatewayId, ORPHAN_AFTER_MS, ORPHANS_MAX, ids)) {
        if (running.has(hold.id)) continue
        await ledger.settle(orphanSettlement(hold.id, hold.project_id))
        metrics.holdsOrphaned.inc()
      }
      await statements.giveUpOrphanedKeys(db, gatewayId, [...running.keys()], ORPHAN_AFTER_MS)
    },
    get isFresh() {
      return performance.now() - lastBeatMs < 3 * beatMs
    },
    get clockAheadMs() {
      return aheadMs
    },
  }
}

function orphanSettlement(callId: string, projectId: string): Settlement {
  return {
    callId,
    projectId,
    charge: 0n,
    worth: 0n,
    usage: NO_USAGE,
    usageSource: 'none',
    outcome: 'gateway_failed',
    requestId: '',
    streamed: false,
    status: 503,
    errorCode: 'store_unavailable',
    durationMs: 0,
    attempts: [],
    hasIdempotencyKey: true,
  }
}
