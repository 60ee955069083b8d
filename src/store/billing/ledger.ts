import { createLane, LaneFull, LaneTimeout, type Lane } from '../../platform/batch.ts'
import { isErrorCode, ParleyError, storeUnavailable, type ErrorCode } from '../../rules/errors.ts'
import { EXTEND_WAIT_MS, SETTLE_WAIT_MS, STORE_WAIT_MS } from '../../rules/limits.ts'
import type { Nanos } from '../../rules/money.ts'
import { isUnavailable } from '../database.ts'
import type { Settlement } from './settlement.ts'
import { createWriteState, type LedgerEvents } from './ledger-write-state.ts'

/**
 * The money path: every hold, extension and settle of this process goes through one lane, many to a statement. The
 * statement (functions/ledger_apply.sql) is idempotent by call id, so a batch whose answer was lost is sent again.
 */
export interface Ledger {
  /** Returns what was granted, between `min` and `want`. Throws 401, 403, 429 or 503. */
  hold(request: HoldRequest): Promise<Nanos>
  /** Returns the hold's new total; the same total as before means that the wallet has no more. */
  extend(request: ExtensionRequest): Promise<Nanos>
  /** Returns what was charged, once it is durable. Throws 503 when the store stays away for too long. */
  settle(settlement: Settlement): Promise<Nanos>
  readonly queued: number
  /** False after seconds of batches that the store could not write. */
  readonly isWritable: boolean
  /** Resolves when everything submitted has been answered. */
  idle(): Promise<void>
}

export interface HoldRequest {
  callId: string
  projectId: string
  keyPairId: string
  modelId: string
  priceVersion: bigint
  want: Nanos
  min: Nanos
  /** Then the hold is granted only while the key is still this call's. */
  hasIdempotencyKey: boolean
}

export interface ExtensionRequest {
  callId: string
  projectId: string
  /** 1 for the first extension of a call; makes sending it twice harmless. */
  extension: number
  want: Nanos
  min: Nanos
}

export type LedgerItem =
  | { part: 'hold'; request: HoldRequest }
  | { part: 'extend'; request: ExtensionRequest }
  | { part: 'settle'; settlement: Settlement }

/** One row of what ledger_apply returns. */
export interface LedgerAnswer {
  id: string
  part: string
  amount_nanos: bigint | null
  refusal: string | null
}

const BATCH_MAX = 256
/** At 5,000 calls/s this is two seconds of holds and settles; more waiting than that would only end in timeouts. */
const QUEUE_MAX = 20_000
const RETRY_EVERY_MS = 200

/** Applies a batch in one transaction and answers each item, in order. Must be harmless to repeat. */
export type ApplyBatch = (items: readonly LedgerItem[]) => Promise<LedgerAnswer[]>

export function createLedger(apply: ApplyBatch, events: LedgerEvents = {}, holdWaitMs = STORE_WAIT_MS): Ledger {
  const state = createWriteState(events)
  const lane: Lane<LedgerItem, LedgerAnswer> = createLane({
    run: apply,
    batchMax: BATCH_MAX,
    queueMax: QUEUE_MAX,
    isTransient: isUnavailable,
    retryEveryMs: RETRY_EVERY_MS,
    onPutOff: state.putOff,
    onAnswered: state.answered,
  })

  async function submit(item: LedgerItem, waitMs: number): Promise<LedgerAnswer> {
    try {
      return await lane.submit(item, waitMs)
    } catch (error) {
      if (error instanceof LaneFull) throw new ParleyError('overloaded', { retryAfterSeconds: 1 })
      if (error instanceof LaneTimeout) throw storeUnavailable()
      throw error
    }
  }

  return {
    async hold(request) {
      const { amount_nanos, refusal } = await submit({ part: 'hold', request }, holdWaitMs)
      if (refusal !== null) throw holdErrorOf(refusal)
      return amount_nanos ?? 0n
    },
    async extend(request) {
      const { amount_nanos } = await submit({ part: 'extend', request }, EXTEND_WAIT_MS)
      return amount_nanos ?? 0n
    },
    async settle(settlement) {
      const { amount_nanos, refusal } = await submit({ part: 'settle', settlement }, SETTLE_WAIT_MS)
      if (refusal !== null) throw new ParleyError('internal', { details: { ledger: refusal } })
      return amount_nanos ?? 0n
    },
    get queued() {
      return lane.queued
    },
    get isWritable() {
      return state.isWritable
    },
    idle: () => lane.idle(),
  }
}

const RETRY_AFTER_SECONDS: Partial<Record<ErrorCode, number>> = {
  concurrency_limited: 1,
  credit_held: 2,
  idempotency_running: 1,
}

function holdErrorOf(reason: string): ParleyError {
  // Of this process, not of the caller: its clock is wrong, or the function is newer and says what it does not know. The
  // log line tells the operator, and another gateway may answer the retry.
  if (!isErrorCode(reason)) return storeUnavailable({ ledger: reason })
  if (reason === 'rate_limited') return new ParleyError(reason, { retryAfterSeconds: 60 - new Date().getUTCSeconds() })
  return new ParleyError(reason, { retryAfterSeconds: RETRY_AFTER_SECONDS[reason] })
}
