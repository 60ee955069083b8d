/** The differences between the providers' wire formats. Scripts, replies and faults know nothing of them. */
import type { IncomingHttpHeaders } from 'node:http'
import type { CachePlan } from './caches.ts'
import type { Refusal } from './refusal.ts'
import type { Reply, Tool } from './reply.ts'
import type { WantedVectors } from './vectors.ts'

export interface Dialect {
  /** The wire format by the name of its maker, wherever it is served. */
  readonly format: 'openai' | 'anthropic' | 'gemini' | 'bedrock'
  readonly idPrefix: string
  /** The names of events that a fault makes up, in a dialect that names its events. */
  readonly eventNames?: { readonly content: string; readonly error: string }
  /** Only in a dialect whose streams are not server-sent events. */
  readonly framing?: Framing
  serves(method: string, path: string): boolean
  /** As it was sent. `url` is the path and what follows its question mark. */
  credentialIn(headers: IncomingHttpHeaders, url: string): string | undefined
  /** For providers that answer a missing or wrong key with something else than a 401. */
  refusalOfKey?(credential: string | undefined): Refusal | undefined
  /** Throws a Refusal when a header is missing that this dialect demands. */
  checkHeaders?(headers: IncomingHttpHeaders): void
  /** Throws a Refusal when the body is not a request of this dialect. */
  read(body: unknown, url: string): ChatRequest
  /** How this request may use the provider's cache of prompts. Undefined: not at all. */
  caching(body: Record<string, unknown>, request: ChatRequest): CachePlan | undefined
  errorBody(status: number, message: string): unknown
  json(answer: Answer): unknown
  events(answer: Answer): Iterable<StreamEvent>
}

export interface Framing {
  readonly contentType: string
  frame(event: Pick<StreamEvent, 'data' | 'name'>): Uint8Array
  /** The beginning of an event that claims to have this many bytes. */
  beginning(bytes: number): Uint8Array
}

export interface ChatRequest {
  readonly model: string
  readonly stream: boolean
  readonly wantsUsage: boolean
  readonly tokensMax: number | undefined
  readonly messages: readonly { readonly role: string; readonly text: string }[]
  readonly tools: readonly Tool[]
  /** Texts that the model reads besides the messages: definitions of tools, former calls, a schema. */
  readonly alsoRead?: readonly string[]
  /** Whether it asks the model to think. */
  readonly wantsThoughts?: boolean
  /** Tokens of images and files, in total. */
  readonly mediaTokens?: number
  /** How many alternatives of each token it wants to see. Undefined: it does not ask for probabilities. */
  readonly topLogprobs?: number | undefined
  /** It asks for these, and for no text. */
  readonly vectors?: WantedVectors
}

export interface Answer {
  readonly id: string
  readonly createdS: number
  readonly model: string
  readonly reply: Reply
  /** The provider's word for its end, where it is not the one that fits the reply. */
  readonly finish?: string | undefined
  readonly topLogprobs?: number | undefined
  /** Only for a request for embeddings: one for each input. */
  readonly vectors?: readonly (readonly number[])[] | undefined
  readonly isBase64?: boolean | undefined
  /** Undefined when it was not asked for, or is withheld. */
  readonly usage: ReportedUsage | undefined
}

export interface Usage {
  readonly prompt: number
  readonly completion: number
  readonly total: number
  readonly cached: number
  readonly cacheWrite: number
  /** Tokens of the prompt that were neither read from the cache nor written to it. */
  readonly fresh: number
  readonly reasoning: number
}

/** A provider can put anything where a count belongs. */
export type ReportedUsage = { readonly [Count in keyof Usage]: unknown }

export interface StreamEvent {
  readonly kind: 'open' | 'content' | 'close' | 'done'
  readonly data: string
  /** In dialects that name their events. */
  readonly name?: string
  /** How many tokens of the reply it carries. */
  readonly tokens: number
  /** … and of the thoughts before it. */
  readonly thoughtTokens?: number
}
