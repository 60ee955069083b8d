import type { ServerResponse } from 'node:http'
import { HEARTBEAT_MS, SLOW_READER_MS } from '../rules/limits.ts'
import type { FinishReason, ReplyChunk } from '../rules/chunk.ts'
import { asParleyError, ParleyError } from '../rules/errors.ts'
import { HungUp } from './call.ts'
import { NO_USAGE } from '../rules/usage.ts'
import {
  completionBodyOf,
  createEventWriter,
  errorBodyOf,
  replyOf,
  type CompletionHead,
  type ErrorFormat,
} from './wire.ts'

/** Puts an answer onto the caller's socket: as one JSON body, or event by event at the caller's own pace. */

export interface RespondOptions {
  format: ErrorFormat
  includeUsage: boolean
  heartbeatMs?: number
  slowReaderMs?: number
  /** The answer is made to its end although nobody listens any more. */
  outlivesCaller?: boolean
}

/** `headOf` is asked when the first chunk is there: only then is it known whether the answer is a stored one. */
export async function respondWithJson(
  res: ServerResponse,
  chunks: AsyncIterable<ReplyChunk>,
  headOf: () => CompletionHead,
): Promise<void> {
  const reply = replyOf()
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
  sendJson(
    res,
    200,
    completionBodyOf(head, { message: reply.message(), finishReason, usage, sponsored: reply.sponsored }),
  )
}

function setCompletionHeaders(res: ServerResponse, head: CompletionHead): void {
  res.setHeader('x-completion-id', head.id)
  if (head.isReplayed) res.setHeader('idempotent-replayed', 'true')
}

export function sendError(res: ServerResponse, error: ParleyError, format: ErrorFormat): void {
  if (res.headersSent || res.destroyed) return
  if (error.options.retryAfterSeconds !== undefined)
    res.setHeader('retry-after', String(error.options.retryAfterSeconds))
  sendJson(res, error.status, errorBodyOf(error, format))
}

function sendJson(res: ServerResponse, status: number, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body))
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': bytes.length })
  res.end(bytes)
}

/**
 * Headers wait for the first chunk or the first heartbeat, so that a failure before either keeps its HTTP status.
 * There is one writer per stream and it writes whole events, so a heartbeat can never fall inside one.
 */
export async function respondWithEvents(
  res: ServerResponse,
  chunks: AsyncIterable<ReplyChunk>,
  headOf: () => CompletionHead,
  options: RespondOptions,
): Promise<void> {
  let events = createEventWriter(headOf())
  const writer = createCoalescingWriter(res, options)
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
    writer.add(events.opening())
  }
  const heartbeat = setInterval(() => {
    open()
    // One newline: the only heartbeat that every client survives. A blank line would be an empty event.
    writer.add(': ping\n')
  }, options.heartbeatMs ?? HEARTBEAT_MS)
  try {
    for await (const chunk of chunks) {
      if (chunk.type === 'usage' && !options.includeUsage) continue
      open()
      heartbeat.refresh()
      writer.add(events.event(chunk))
      if (writer.isFull) await writer.drained()
    }
    res.end(writer.take() + events.done())
  } catch (error) {
    const failure = asParleyError(error)
    if (!res.headersSent) sendError(res, failure, options.format)
    else if (!res.destroyed) res.end(writer.take() + events.error(failure), () => res.socket?.end())
    throw error
  } finally {
    clearInterval(heartbeat)
  }
}

/** Events that are ready in the same turn of the event loop leave in one packet: a system call for each would cost more
 * than all the rest of a piece's way through the gateway. */
function createCoalescingWriter(
  res: ServerResponse,
  { slowReaderMs = SLOW_READER_MS, outlivesCaller = false }: RespondOptions,
) {
  let pending = ''
  let isFull = false
  const take = () => {
    const text = pending
    pending = ''
    return text
  }
  const flush = () => {
    if (pending !== '' && !res.destroyed) isFull = !res.write(take())
  }
  return {
    add(text: string): void {
      if (pending === '') process.nextTick(flush)
      pending += text
    },
    /** What was added and not yet written. */
    take,
    get isFull() {
      return isFull
    },
    async drained(): Promise<void> {
      await drained(res, slowReaderMs).catch((error: unknown) => {
        if (!outlivesCaller) throw error
      })
      isFull = false
    },
  }
}

/** Resolves when the caller has read on; throws when it is gone, or so slow that it might as well be. */
function drained(res: ServerResponse, withinMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (error?: Error) => {
      clearTimeout(timer)
      res.off('drain', onDrain).off('close', onClose)
      if (error) reject(error)
      else resolve()
    }
    const onDrain = () => finish()
    const onClose = () => finish(new HungUp('closed while data waited'))
    const timer = setTimeout(() => {
      finish(new SlowReader())
      res.destroy()
    }, withinMs)
    res.once('drain', onDrain).once('close', onClose)
    if (res.destroyed) onClose()
  })
}

export class SlowReader extends HungUp {}
