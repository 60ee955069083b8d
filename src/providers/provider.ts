import type { ChatRequest } from '../rules/calls/chat-request.ts'
import type { EmbeddingsRequest } from '../rules/calls/embeddings-request.ts'
import type { EmbeddingField, RouteField } from '../rules/calls/route-fields.ts'
import type { Chunk } from '../rules/calls/chunk.ts'
import type { UpstreamTimers } from '../rules/limits.ts'
import type { UpstreamErrorKind } from '../rules/upstreams/blame.ts'

/** An upstream that answers chat requests, and maybe embeds. A non-streaming answer is the fold of a streaming one. */
export interface Provider {
  /** For metrics and attempts. */
  readonly name: string
  /**
   * Yields the content of the answer in order, then one finish and, if the upstream reported it, one usage; the first is
   * content or the finish. What arrived together is yielded together. Ends only when the answer is complete and throws an
   * `UpstreamError` otherwise. Stops promptly when `signal` aborts.
   */
  stream(call: UpstreamCall, signal: AbortSignal): AsyncIterable<readonly Chunk[]>
  /** A field of the request that this wire format or model has no place for. Such a deployment is not asked: nothing is dropped silently. */
  cannotHonour(request: ChatRequest, upstreamModel: string): RouteField | undefined
  /**
   * Yields one vector for each input, in their order, and then one usage, if the upstream reported it, when all are there:
   * until then another deployment can still be asked. Undefined: the wire format has no embeddings.
   */
  embed?(call: EmbedCall, signal: AbortSignal): AsyncIterable<readonly Chunk[]>
  /** The same as `cannotHonour`, of a request for embeddings. */
  cannotEmbed?(request: EmbeddingsRequest): EmbeddingField | undefined
}

export interface EmbedCall extends Omit<UpstreamCall, 'request'> {
  request: EmbeddingsRequest
}

export interface UpstreamCall {
  request: ChatRequest
  upstreamModel: string
  /** Chosen anew for each attempt, because a provider may have several. Undefined: it asks for none. */
  apiKey: string | undefined
  timers: UpstreamTimers
  /** Fields that the deployment refuses altogether: not sent even where they ask for nothing. */
  unsupportedFields?: ReadonlySet<string>
  /** Sent with it, where the request says nothing else. */
  extraBody?: Record<string, unknown> | undefined
  /** A digest of whom the call is for. */
  endUser?: string | undefined
  /** Undefined: an independent request. */
  cache?: ConversationCache | undefined
  /** Told when the request goes onto the wire: from then on the provider may be at work on it. */
  onSent?(): void
}

/** The facts about a conversation that a provider's cache of prompts needs. */
export interface ConversationCache {
  /** A keyed digest and never the caller's own words. Another one in each project: tenants cannot probe each other's caches. */
  key: string
  /** The prompt begins with what an earlier call of the conversation sent. Only then is it worth while to write it to a cache. */
  isReturning: boolean
}

export type { UpstreamErrorKind }

export class UpstreamError extends Error {
  readonly kind: UpstreamErrorKind
  /** The upstream's HTTP status, where there was one. */
  readonly status: number | undefined
  readonly retryAfterSeconds: number | undefined
  /** The output of a model that has failed, which its provider bills. It is the answer where there is no better one. */
  readonly answerAsIs: readonly Chunk[] | undefined

  /** Takes no text from the upstream: it may quote the prompt or a key. */
  constructor(
    kind: UpstreamErrorKind,
    options: { status?: number; retryAfterSeconds?: number; answerAsIs?: readonly Chunk[] } = {},
  ) {
    super(`upstream ${kind}${options.status === undefined ? '' : ` (status ${options.status})`}`)
    this.name = 'UpstreamError'
    this.kind = kind
    this.status = options.status
    this.retryAfterSeconds = options.retryAfterSeconds
    this.answerAsIs = options.answerAsIs
  }
}
