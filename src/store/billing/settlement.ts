import type { CallOutcome, UsageSource } from '../../rules/billing/charging.ts'
import type { Anomaly } from '../../rules/billing/reported-usage.ts'
import type { Usage } from '../../rules/billing/usage.ts'
import type { CallEndpointName } from '../../rules/endpoints.ts'
import type { FinishReason } from '../../rules/calls/chunk.ts'
import type { RecommendationOutcome } from '../../rules/recommendations/matching.ts'
import type { Nanos } from '../../rules/money.ts'

/**
 * The facts that are remembered of a call, as far as they become known along the way. A new fact is a field here, a line where
 * it becomes known (`call.facts`), and a column in ledger_settle: everything between passes facts on without naming them.
 */
export interface CallFacts {
  streamed: boolean
  attempts: Attempt[]
  /** The deployment that was sent the prompt and has not failed since. */
  deploymentId?: string | undefined
  firstTokenMs?: number
  finishReason?: FinishReason
  errorCode?: string
  /** Why its reply has a recommendation, or none. Undefined: its project wants none. */
  recommendationOutcome?: RecommendationOutcome | undefined
  /** The faults in the provider's report of its usage, and that report, as it was. */
  anomalies?: readonly Anomaly[]
  reported?: Usage | undefined
}

/** How a call ended: what it costs, and what is remembered of it. */
export interface Settlement extends CallFacts {
  callId: string
  projectId: string
  charge: Nanos
  worth: Nanos
  usage: Usage
  usageSource: UsageSource
  outcome: CallOutcome
  requestId: string
  /** Undefined: it is not known any more, and the hold says it. */
  endpoint?: CallEndpointName
  /** Where another model answered than the one that was asked for: what it is charged as. */
  answeredModelId?: string
  answeredPriceVersionId?: string
  conversationId?: string | undefined
  status: number
  durationMs: number
  hasIdempotencyKey: boolean
  /** The answer to a retry with the same Idempotency-Key; stored in the statement that charges. */
  result?: string | undefined
}

/** One try at one deployment. */
export interface Attempt {
  deployment: string
  provider: string
  /** For a call that names several. */
  model?: string
  /** The name of the provider's key, for the operator only. */
  key?: string
  ms: number
  /** Undefined: it answered. */
  failed: string | undefined
  /** The amount that the provider charges the operator for it; text, because it is stored as JSON. Undefined: not known. */
  costNanos?: string
}
