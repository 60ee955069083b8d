import type { ServerResponse } from 'node:http'
import type { FinishReason, ReplyChunk } from '../../rules/calls/chunk.ts'
import { asParleyError, ParleyError } from '../../rules/errors.ts'
import { NO_USAGE } from '../../rules/billing/usage.ts'
import { createCallerStream, type CallerStreamOptions } from './caller-stream.ts'
import { startHeartbeat } from './heartbeat.ts'
import {
  completionBodyOf,
  createEventWriter,
  errorBodyOf,
  replyOf,
  type CompletionHead,
  type ErrorFormat,
} from './wire.ts'

/** Puts an answer onto the caller's socket: as one JSON body, or event by event at the caller's own pace. */

export interface RespondOptions extends CallerStreamOptions {
  format: ErrorFormat
  includeUsage: boolean
  heartbeatMs?: number
}

/** `headOf` is asked when the first chunk is there: only then is it known whether the answer is a stored one. */
export async function respondWithJson(
  res: ServerResponse,
  chunks: AsyncIterable<ReplyChunk>,
  headOf: () => CompletionHead,
): Promise<void> {
  const reply = replyOf({ keepsLogprobs: true })
  let finishReason: FinishReason = 'stop'
  let usage = NO_USAGE
  for await (const chunk of chunks) {
    if (chunk.type === 'finish') finishReason = chunk.reason
    else if (chunk.type === 'usage') usage = chunk.usage
    else reply.add(chunk)
  }
  const head = headOf()
  if (res.destroyed) return
  setCompletionHeaders(res, head)
  const { sponsored, logprobs } = reply
  sendJson(res, 200, completionBodyOf(head, { message: reply.message(), finishReason, usage, sponsored, logprobs }))
}

function setCompletionHeaders(res: ServerResponse, head: CompletionHead): void {
  res.setHeader('x-completion-id', head.id)
  if (head.isReplayed) res.setHeader('idempotent-replayed', 'true')
  for (const [name, value] of Object.entries(head.headers ?? {})) res.setHeader(name, value)
}

export function sendError(res: ServerResponse, error: ParleyError, format: ErrorFormat): void {
  if (res.headersSent || res.destroyed) return
  if (error.options.retryAfterSeconds !== undefined)
    res.setHeader('retry-after', String(error.options.retryAfterSeconds))
  for (const [name, value] of Object.entries(error.options.headers ?? {})) res.setHeader(name, value)
  sendJson(res, error.status, errorBodyOf(error, format))
}

function sendJson(res: ServerResponse, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body))
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': bytes.length })
  res.end(bytes)
}

/**
 * Headers wait for the first chunk or the first heartbeat, so that a failure before either keeps its HTTP status.
 * There is one writer per stream and it writes whole events, so a heartbeat can never fall inside one. When the caller is
 * gone, the chunks are still taken to their end: how far an answer then goes on, and what it costs, is not decided here.
 */
export async function respondWithEvents(
  res: ServerResponse,
  chunks: AsyncIterable<ReplyChunk>,
  headOf: () => CompletionHead,
  options: RespondOptions,
): Promise<void> {
  let events = createEventWriter(headOf())
  const caller = createCallerStream(res, options)
  const open = () => {
    if (res.headersSent || res.destroyed) return
    const head = headOf()
    events = createEventWriter(head)
    setCompletionHeaders(res, head)
    res.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    caller.add(events.opening())
  }
  const heartbeat = startHeartbeat((ping) => {
    open()
    caller.add(ping)
  }, options.heartbeatMs)
  try {
    for await (const chunk of chunks) {
      if (chunk.type === 'usage' && !options.includeUsage) continue
      open()
      heartbeat.refresh()
      caller.add(events.event(chunk))
      const room = caller.room()
      if (room) await room
    }
    heartbeat.stop()
    await caller.end(events.done())
  } catch (error) {
    const failure = asParleyError(error)
    if (!res.headersSent) sendError(res, failure, options.format)
    else {
      heartbeat.stop()
      const { socket } = res // An ended response has none.
      await caller.end(events.error(failure))
      socket?.end()
    }
    throw error
  } finally {
    heartbeat.stop()
  }
}
