import type { ConversationCache } from '../providers/provider.ts'
import type { CallOutcome, UsageSource } from '../rules/billing/charging.ts'
import type { Rates } from '../rules/billing/limits.ts'
import type { Nanos } from '../rules/money.ts'
import type { Usage } from '../rules/billing/usage.ts'
import type { CallEndpointName } from '../rules/endpoints.ts'
import type { CallFacts } from '../store/billing/settlement.ts'
import type { Caller } from './authenticate.ts'

/** One request that is answered by a model, from the moment its keys were accepted. */
export interface Call {
  /** Also the id of its hold, its charge and, behind its endpoint's prefix, of the answer. */
  readonly id: string
  readonly endpoint: CallEndpointName
  readonly requestId: string
  readonly caller: Caller
  /** The network address that it came from. */
  readonly address: string
  /** The parsed JSON as it was sent, which says more than what is left of it after checks. */
  readonly body: unknown
  readonly bodyBytes: number
  readonly conversationId: string | undefined
  /** The end user that it is for. `id` is in the caller's own words, and kept nowhere. */
  readonly endUser: { id: string; label: string | undefined } | undefined
  /** A call that has one runs to its end even when its caller is gone: the retry is answered from its result. */
  readonly idempotencyKey: string | undefined
  /** The header x-monetization: anything but "on" asks for no recommendation. */
  readonly monetizationHeader: string | undefined
  readonly createdAt: Date
  /** Monotonic, for durations. */
  readonly startedMs: number
  /** Sets memory of the process aside until the call ends, as for its body: undefined, or a promise that rejects with 429 or 503. */
  reserve(bytes: number): Promise<void> | undefined
  /** Aborts when the caller is gone or the process must end. */
  readonly signal: AbortSignal
  /** Facts that become known along the way, and are stored when the call is settled. */
  readonly facts: CallFacts
  /** Everything else that becomes known, for answering the call, for the log line and the metrics. */
  readonly progress: CallProgress
}

export interface CallProgress {
  /** The one that was asked for, or the one of its fallbacks that is being tried. */
  model?: string
  hasFallbacks?: boolean
  /** The digest that whom it is for is known by. */
  endUserId?: string | undefined
  /** The conversation as providers' caches need to know it. Undefined: an independent request. */
  cache?: ConversationCache | undefined
  /** The remainder of its rate limits. */
  rates?: Rates | undefined
  /** This answer is a stored one, of an earlier call with the same Idempotency-Key. */
  replayed?: { callId: string; created: number }
  /** So much waits for the caller that nothing more is taken from the provider. */
  isStalled?: boolean
  /** The provider's name for an ending that nobody asks for. */
  oddEnding?: string | undefined
  /** The outcome and its bill, once the call is settled. */
  bill?: { outcome: CallOutcome; usage: Usage; usageSource: UsageSource; held: Nanos; worth: Nanos }
  /** From when that is durable. */
  charged?: Nanos
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
