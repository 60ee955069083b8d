import type { UpstreamErrorKind } from '../../src/providers/provider.ts'
import type { Chunk, ReplyChunk } from '../../src/rules/calls/chunk.ts'
import type { Nanos } from '../../src/rules/money.ts'
import type { Usage } from '../../src/rules/billing/usage.ts'
import type { Settlement } from '../../src/store/billing/settlement.ts'
import type { Call } from '../../src/gateway/call.ts'
import type { Process } from './clock.ts'
import type { CallPlan } from './scenario.ts'

/** A call as everyone around it saw it: the caller, the providers and the store, but not the gateway itself. */
export interface CallRecord {
  readonly id: string
  readonly projectId: string
  readonly plan: CallPlan
  /** Its gateway. */
  readonly process: Process
  readonly attempts: AttemptRecord[]
  /** The chunks that its gateway answered with, whether or not the caller was still there to receive them. */
  readonly answered: ReplyChunk[]
  /** Why it was cut off from outside, if it was. */
  abortedBy: 'caller' | 'shut_down' | undefined
  /** The provider was still at work when its caller went. */
  wasRunningWhenLeft: boolean
  /** Undefined while it runs, and for ever if its gateway crashed. */
  end: { kind: 'returned' } | { kind: 'threw'; error: unknown } | undefined
  /** The totals of its hold, in the order in which the store granted them. */
  readonly granted: Nanos[]
  /** Settlements that its gateway sent; one that is sent again is the same object. */
  readonly settlements: Set<Settlement>
  replayed: Call['progress']['replayed']
}

/** One try at a provider, as the provider saw it. */
export interface AttemptRecord {
  provider: string
  apiKey: string | undefined
  maxTokens: number | undefined
  /** As the provider counts, and without its images. */
  promptTokens: number
  promptTextTokens: number
  images: number
  /** The request has reached the provider. */
  isSent: boolean
  /** Tokens that it has thought unseen so far. */
  hiddenTokens: number
  given: Chunk[]
  /** Tokens of text and tool calls; `thoughtTokens` counts the thoughts that were shown. */
  textTokens: number
  thoughtTokens: number
  /** The provider's bill: everything that it had made when the attempt ended, read or not. */
  billed: Usage
  /** `left`: the gateway stopped reading. Undefined: it runs. */
  end: 'complete' | 'aborted' | 'left' | UpstreamErrorKind | undefined
}

export function createCallRecord(plan: CallPlan, projectId: string, process: Process): CallRecord {
  return {
    id: plan.name,
    projectId,
    plan,
    process,
    attempts: [],
    answered: [],
    abortedBy: undefined,
    wasRunningWhenLeft: false,
    end: undefined,
    granted: [],
    settlements: new Set(),
    replayed: undefined,
  }
}

/** The id of what is called so in each of several projects: a key pair, or an end user. */
export function nameIn(projectId: string, name: string): string {
  return `${name} of ${projectId}`
}
