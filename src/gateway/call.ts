import type { Outcome, UsageSource } from '../rules/billing/charging.ts'
import type { FinishReason } from '../rules/calls/chunk.ts'
import type { Nanos } from '../rules/money.ts'
import type { Anomaly } from '../rules/billing/usage-report.ts'
import type { Usage } from '../rules/billing/usage.ts'
import type { Attempt } from '../store/billing/ledger.ts'
import type { Caller } from './authenticate.ts'

/** One completion request, from the moment its keys were accepted. */
export interface Call {
  /** Also the id of its hold, its charge and, as `chatcmpl-…`, of the completion. */
  readonly id: string
  readonly requestId: string
  readonly caller: Caller
  /** The parsed JSON as it was sent, which says more than what is left of it after checks. */
  readonly body: unknown
  readonly conversationId: string | undefined
  /** A call that has one runs to its end even when its caller is gone: the retry is answered from its result. */
  readonly idempotencyKey: string | undefined
  /** The header x-monetization: anything but "on" asks for no recommendation. */
  readonly monetizationHeader: string | undefined
  readonly createdAt: Date
  /** Monotonic, for durations. */
  readonly startedMs: number
  /** Aborts when the caller is gone or the process must end. */
  readonly signal: AbortSignal
  /** What becomes known along the way: for the log line, the metrics and the record of the call. */
  readonly facts: CallFacts
}

export interface CallFacts {
  model?: string
  streamed: boolean
  attempts: Attempt[]
  /** Who was sent the prompt and has not failed since. */
  deploymentId?: string
  firstTokenMs?: number
  outcome?: Outcome
  finishReason?: FinishReason
  /** What the provider called an end that nobody asks for. */
  oddEnding?: string
  errorCode?: string
  usage?: Usage
  usageSource?: UsageSource
  held?: Nanos
  worth?: Nanos
  charged?: Nanos
  /** This answer is a stored one, of an earlier call with the same Idempotency-Key. */
  replayed?: { callId: string; created: number }
  /** What was wrong with the provider's report of its usage. */
  anomalies?: readonly Anomaly[]
  /** That report, as it was. */
  reported?: Usage
  /** So much waits for the caller that nothing more is taken from the provider. */
  isStalled?: boolean
}

/** The calls of this process by id, each with the means to cut it off. */
export type RunningCalls = Map<string, AbortController>

/** Why a call was aborted from outside. */
export class HungUp extends Error {
  override readonly name = 'HungUp'
}
export class ShutDown extends Error {
  override readonly name = 'ShutDown'
}
