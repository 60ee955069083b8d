import { createLane, LaneFull, LaneTimeout, type LaneOptions } from '../../../platform/batch.ts'
import { isErrorCode, ParleyError, storeUnavailable, type ErrorCode } from '../../../rules/errors.ts'
import { EXTEND_WAIT_MS, SETTLE_WAIT_MS, STORE_WAIT_MS } from '../../../rules/limits.ts'
import { rateHeadersOf, ratesOf, secondsToNextMinute, sentenceOfLimit } from '../../../rules/billing/limits.ts'
import type { Nanos } from '../../../rules/money.ts'
import { isTooSlow, isUnavailable } from '../../database.ts'
import type { ApplyBatch, ExtensionRequest, Grant, HoldRequest, LedgerAnswer, LedgerItem } from './ledger-items.ts'
import type { Settlement } from '../settlement.ts'
import { createWriteState, type LedgerEvents } from './ledger-write-state.ts'
import { createWalletLanes, type SideRoad } from './locked-wallets.ts'

/**
 * The money path: every hold, extension and settle of this process goes through one lane, many to a statement, and those of
 * a wallet that is locked through one of its own. The statement (functions/ledger_apply.sql) is idempotent by call id, so a batch whose answer was lost is sent again.
 */
export interface Ledger {
  /** Grants between `min` and `want`. Throws 401, 403, 429 or 503. */
  hold(request: HoldRequest): Promise<Grant>
  /** Returns the hold's new total; the same total as before means that the wallet or a budget has no more. */
  extend(request: ExtensionRequest): Promise<Nanos>
  /** Returns what was charged, once it is durable. Throws 503 when the store stays away for too long. */
  settle(settlement: Settlement): Promise<Nanos>
  readonly queued: number
  /** False after seconds of batches that the store could not write. */
  readonly isWritable: boolean
  /** Resolves when everything submitted has been answered. */
  idle(): Promise<void>
}

const BATCH_MAX = 256
/** The length of stored answers in one statement: all holds wait while it is written. */
const BATCH_CHARACTERS_MAX = 1024 * 1024
/** At 5,000 calls/s this is two seconds of holds and settles; more waiting than that would only end in timeouts. */
const QUEUE_MAX = 20_000
const RETRY_EVERY_MS = 200

export interface LedgerOptions extends LedgerEvents {
  holdWaitMs?: number | undefined
  /** For wallets that somebody else has locked. Without it, everybody waits for them. */
  side?: SideRoad
}

export function createLedger(apply: ApplyBatch, options: LedgerOptions = {}): Ledger {
  const { side, holdWaitMs = STORE_WAIT_MS } = options
  const state = createWriteState(options)
  const laneOptions: LaneOptions<LedgerItem, LedgerAnswer> = {
    run: apply,
    batchMax: BATCH_MAX,
    sizeMax: BATCH_CHARACTERS_MAX,
    sizeOf: (item) => (item.part === 'settle' ? (item.settlement.result?.length ?? 0) : 0),
    queueMax: QUEUE_MAX,
    isTransient: isUnavailable,
    isTooLong: isTooSlow,
    retryEveryMs: RETRY_EVERY_MS,
    onPutOff: state.putOff,
    onAnswered: state.answered,
  }
  const lane = side ? createWalletLanes(laneOptions, side) : createLane(laneOptions)

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
      const answer = await submit({ part: 'hold', request }, holdWaitMs)
      if (answer.refusal !== null) throw holdErrorOf(answer.refusal, answer, new Date())
      return { amount: answer.amount_nanos ?? 0n, rates: ratesOf(answer.rates) }
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
  budget_held: 2,
  idempotency_running: 1,
}

function holdErrorOf(reason: string, { limitedBy, rates }: LedgerAnswer, now: Date): ParleyError {
  // The fault is this process's, not the caller's: its clock is wrong, or the function is newer and gives a reason that it does
  // not know. The log line tells the operator, and another gateway may answer the retry.
  if (!isErrorCode(reason)) return storeUnavailable({ ledger: reason })
  return new ParleyError(reason, {
    message: limitedBy ? sentenceOfLimit(reason, limitedBy, now) : undefined,
    retryAfterSeconds: reason === 'rate_limited' ? secondsToNextMinute(now) : RETRY_AFTER_SECONDS[reason],
    headers: rateHeadersOf(ratesOf(rates), now),
  })
}
