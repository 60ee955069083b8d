import type { Pool, PoolClient } from 'pg'
import { createLane, LaneFull, LaneTimeout, type Lane } from '../../platform/batch.ts'
import type { Outcome, UsageSource } from '../../rules/billing/charging.ts'
import { ParleyError, storeUnavailable, type ErrorCode } from '../../rules/errors.ts'
import { EXTEND_WAIT_MS, SETTLE_WAIT_MS, STORE_WAIT_MS } from '../../rules/limits.ts'
import type { Nanos } from '../../rules/money.ts'
import type { Anomaly } from '../../rules/billing/usage-report.ts'
import type { Usage } from '../../rules/billing/usage.ts'
import { isUnavailable } from '../database.ts'
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

/** How a call ended: what it costs, and what is remembered of it. */
export interface Settlement {
  callId: string
  projectId: string
  charge: Nanos
  worth: Nanos
  usage: Usage
  usageSource: UsageSource
  outcome: Outcome
  deploymentId: string | undefined
  conversationId: string | undefined
  requestId: string
  streamed: boolean
  status: number
  finishReason: string | undefined
  errorCode: string | undefined
  firstTokenMs: number | undefined
  durationMs: number
  attempts: readonly Attempt[]
  /** What was wrong with the provider's report, if anything, and the report itself. */
  anomalies: readonly Anomaly[]
  reported: Usage | undefined
  hasIdempotencyKey: boolean
  /** What a retry with the same Idempotency-Key is answered with; stored in the statement that charges. */
  result: string | undefined
}

/** One try at one deployment. */
export interface Attempt {
  deployment: string
  provider: string
  /** The name of the provider's key, for the operator only. */
  key?: string
  ms: number
  /** Undefined: it answered. */
  failed: string | undefined
  /** What the provider asks of the operator for it; text, because it is stored as JSON. Undefined: not known. */
  costNanos?: string
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
      if (refusal !== null) throw refusalOf(refusal)
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

function refusalOf(reason: string): ParleyError {
  const code = reason as ErrorCode
  if (code === 'rate_limited') return new ParleyError(code, { retryAfterSeconds: 60 - new Date().getUTCSeconds() })
  // Of this process, not of the caller: the log line tells the operator, and another gateway may answer the retry.
  if (reason === 'clock_wrong')
    return new ParleyError('store_unavailable', { retryAfterSeconds: 2, details: { ledger: reason } })
  return new ParleyError(code, { retryAfterSeconds: RETRY_AFTER_SECONDS[code] })
}

export interface ApplyOptions {
  pool: Pick<Pool | PoolClient, 'query'>
  gatewayId: string
  onBatch?: (items: number, seconds: number) => void
}

export function applyWith({ pool, gatewayId, onBatch }: ApplyOptions): ApplyBatch {
  return async (items) => {
    const startedAt = performance.now()
    const { rows } = await pool.query<LedgerAnswer>({
      name: 'ledger_apply',
      text: 'select * from ledger_apply($1, $2, $3, $4, $5)',
      values: [gatewayId, ...batchOf(items)],
    })
    onBatch?.(items.length, (performance.now() - startedAt) / 1000)
    const answers = new Map(rows.map((row) => [row.part + row.id, row]))
    return items.map((item) => {
      const answer = answers.get(item.part + (item.part === 'settle' ? item.settlement : item.request).callId)
      if (!answer) throw new Error('the ledger did not answer an item')
      return answer
    })
  }
}

type Batch = [projectIds: string[], settles: string | null, extensions: string | null, holds: string | null]

/** The arguments of ledger_apply. Exported for the benchmark, which runs the same statement bare. */
export function batchOf(items: readonly LedgerItem[]): Batch {
  const projectIds = new Set<string>()
  const settles: unknown[] = []
  const extensions: unknown[] = []
  const holds: unknown[] = []
  for (const item of items) {
    projectIds.add((item.part === 'settle' ? item.settlement : item.request).projectId)
    if (item.part === 'settle') settles.push(settleRow(settles.length + 1, item.settlement))
    else if (item.part === 'extend') extensions.push(extensionRow(extensions.length + 1, item.request))
    else holds.push(holdRow(holds.length + 1, item.request))
  }
  return [[...projectIds], jsonOf(settles), jsonOf(extensions), jsonOf(holds)]
}

function jsonOf(rows: readonly unknown[]): string | null {
  return rows.length > 0 ? JSON.stringify(rows) : null
}

// `n` is the order of arrival. Amounts travel as text: a JSON number is a double.

function holdRow(n: number, request: HoldRequest) {
  return {
    n,
    id: request.callId,
    project_id: request.projectId,
    key_pair_id: request.keyPairId,
    model_id: request.modelId,
    price_version_id: request.priceVersion.toString(),
    want_nanos: request.want.toString(),
    min_nanos: request.min.toString(),
    has_key: request.hasIdempotencyKey,
  }
}

function extensionRow(n: number, request: ExtensionRequest) {
  return {
    n,
    id: request.callId,
    project_id: request.projectId,
    extension: request.extension,
    want_nanos: request.want.toString(),
    min_nanos: request.min.toString(),
  }
}

function settleRow(n: number, s: Settlement) {
  return {
    n,
    id: s.callId,
    project_id: s.projectId,
    bill_nanos: s.charge.toString(),
    usage_nanos: s.worth.toString(),
    input_tokens: s.usage.input,
    cached_input_tokens: s.usage.cachedInput,
    cache_write_tokens: s.usage.cacheWrite,
    output_tokens: s.usage.output,
    reasoning_tokens: s.usage.reasoning,
    usage_source: s.usageSource,
    outcome: s.outcome,
    deployment_id: s.deploymentId,
    conversation_id: s.conversationId,
    request_id: s.requestId,
    streamed: s.streamed,
    status: s.status,
    finish_reason: s.finishReason,
    error_code: s.errorCode,
    first_token_ms: s.firstTokenMs,
    duration_ms: s.durationMs,
    attempts: s.attempts,
    has_key: s.hasIdempotencyKey,
    result: s.result,
    ...(s.anomalies.length > 0 && {
      anomalies: s.anomalies,
      provider: s.attempts.at(-1)?.provider ?? '',
      reported: s.reported,
    }),
  }
}
