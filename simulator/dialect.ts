/** What differs between the providers' wire formats. Scripts, replies and faults know nothing of it. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Reply, Tool } from './reply.ts'

export interface Dialect {
  readonly idPrefix: string
  serves(method: string, path: string): boolean
  /** As it was sent. */
  credentialIn(headers: IncomingHttpHeaders): string | undefined
  /** Throws a Refusal when the body is not a request of this dialect. */
  read(body: unknown): ChatRequest
  errorBody(status: number, message: string): unknown
  json(answer: Answer): unknown
  events(answer: Answer): Iterable<StreamEvent>
}

export interface ChatRequest {
  readonly model: string
  readonly stream: boolean
  readonly wantsUsage: boolean
  readonly tokensMax: number | undefined
  readonly messages: readonly { readonly role: string; readonly text: string }[]
  readonly tools: readonly Tool[]
}

export interface Answer {
  readonly id: string
  readonly createdS: number
  readonly model: string
  readonly reply: Reply
  /** Undefined when it was not asked for, or is withheld. */
  readonly usage: ReportedUsage | undefined
}

export interface Usage {
  readonly prompt: number
  readonly completion: number
  readonly total: number
  readonly cached: number
  readonly reasoning: number
}

/** A provider can put anything where a count belongs. */
export type ReportedUsage = { readonly [Count in keyof Usage]: unknown }

export interface StreamEvent {
  readonly kind: 'open' | 'content' | 'close' | 'done'
  readonly data: string
  /** How many tokens of the reply it carries. */
  readonly tokens: number
}
