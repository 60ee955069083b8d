import type { ReplyChunk } from '../../rules/calls/chunk.ts'
import type { ParleyError } from '../../rules/errors.ts'
import { STATUS_CODES } from 'node:http'

/** The public API as callers see it: its bodies and events, and nothing of what made them. */

export interface AnswerHead {
  id: string
  /** Unix seconds. */
  created: number
  model: string
  /** A stored answer, given again for a repeated Idempotency-Key. */
  isReplayed?: boolean
  /** Headers of the answer, besides those that every answer has. */
  headers?: Record<string, string>
}

/** Writes an answer as server-sent events, each of them whole. Nothing at all may be written for a chunk. */
export interface EventWriter {
  opening(): string
  event(chunk: ReplyChunk): string
  error(failure: ParleyError): string
  done(): string
}

/** Writes an answer as one JSON body. */
export interface BodyWriter {
  add(chunk: ReplyChunk): void
  body(head: AnswerHead): object
}

/** A body that is too long to be made at once: its JSON in pieces, each of which is made when there is room for it. */
export class LongBody {
  readonly pieces: Iterable<string>

  constructor(pieces: Iterable<string>) {
    this.pieces = pieces
  }
}

/** `openai` is for the official SDKs, which show only `error.message`. */
export type ErrorFormat = 'plain' | 'openai'

export function errorBodyOf(error: ParleyError, format: ErrorFormat) {
  const { status: statusCode, message } = error
  return {
    statusCode,
    message,
    error: format === 'openai' ? openAIErrorOf(error) : (STATUS_CODES[statusCode] ?? 'Error'),
  }
}

export function openAIErrorOf(error: ParleyError) {
  return { message: error.message, type: openAITypeOf(error), code: error.code, param: error.options.param ?? null }
}

function openAITypeOf({ status, code }: ParleyError): string {
  if (code.startsWith('credit_')) return 'insufficient_quota'
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'api_error' : 'invalid_request_error'
}
