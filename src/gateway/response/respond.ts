import type { ServerResponse } from 'node:http'
import { setImmediate as nextRound } from 'node:timers/promises'
import type { ReplyChunk } from '../../rules/calls/chunk.ts'
import { asParleyError, ParleyError } from '../../rules/errors.ts'
import { createCallerStream, type CallerStreamOptions } from './caller-stream.ts'
import { startHeartbeat } from './heartbeat.ts'
import { errorBodyOf, LongBody, type AnswerHead, type BodyWriter, type ErrorFormat, type EventWriter } from './wire.ts'

/** Puts an answer onto the caller's socket: as one JSON body, or event by event at the caller's own pace. */

export interface RespondOptions extends CallerStreamOptions {
  format: ErrorFormat
  heartbeatMs?: number
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** `headOf` is asked when the first chunk is there: only then is it known whether the answer is a stored one. */
export async function respondWithJson(
  res: ServerResponse,
  batches: AsyncIterable<readonly ReplyChunk[]>,
  headOf: () => AnswerHead,
  writer: BodyWriter,
  options: CallerStreamOptions = {},
): Promise<void> {
  for await (const chunks of batches) for (const chunk of chunks) writer.add(chunk)
  const head = headOf()
  if (res.destroyed) return
  setAnswerHeaders(res, head)
  const body = writer.body(head)
  if (body instanceof LongBody) await sendPieces(res, body, options)
  else sendJson(res, 200, body)
}

/** At the caller's own pace, and a piece in each round of the event loop: nobody waits for all of a long answer. */
async function sendPieces(res: ServerResponse, { pieces }: LongBody, options: CallerStreamOptions): Promise<void> {
  const caller = createCallerStream(res, options)
  res.writeHead(200, { 'content-type': JSON_TYPE })
  for (const piece of pieces) {
    caller.add(piece)
    await (caller.room() ?? nextRound())
    if (res.destroyed) return
  }
  await caller.end('')
}

function setAnswerHeaders(res: ServerResponse, head: AnswerHead): void {
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
  res.writeHead(status, { 'content-type': JSON_TYPE, 'content-length': bytes.length })
  res.end(bytes)
}

/**
 * Headers wait for the first chunk or the first heartbeat, so that a failure before either keeps its HTTP status.
 * There is one writer per stream and it writes whole events, so a heartbeat can never fall inside one. When the caller is
 * gone, the chunks are still taken to their end: how far an answer then goes on, and what it costs, is not decided here.
 */
export async function respondWithEvents(
  res: ServerResponse,
  batches: AsyncIterable<readonly ReplyChunk[]>,
  headOf: () => AnswerHead,
  eventsOf: (head: AnswerHead) => EventWriter,
  options: RespondOptions,
): Promise<void> {
  const caller = createCallerStream(res, options)
  let events: EventWriter | undefined
  const heartbeat = startHeartbeat((ping) => {
    sendHeaders(res, headOf)
    caller.add(ping)
  }, options.heartbeatMs)
  /** Its first event names the model that answers, which is known with the first chunk. */
  const open = () => {
    if (events) return events
    sendHeaders(res, headOf)
    events = eventsOf(headOf())
    caller.add(events.opening())
    return events
  }
  try {
    for await (const chunks of batches) {
      const writer = open()
      let text = ''
      for (const chunk of chunks) text += writer.event(chunk)
      if (text === '') continue
      heartbeat.refresh()
      caller.add(text)
      const room = caller.room()
      if (room) await room
    }
    heartbeat.stop()
    await caller.end(open().done())
  } catch (error) {
    if (res.destroyed) throw error
    const failure = asParleyError(error)
    if (!res.headersSent) sendError(res, failure, options.format)
    else {
      heartbeat.stop()
      const { socket } = res // An ended response has none.
      await caller.end(open().error(failure))
      socket?.end()
    }
    throw error
  } finally {
    heartbeat.stop()
  }
}

function sendHeaders(res: ServerResponse, headOf: () => AnswerHead): void {
  if (res.headersSent || res.destroyed) return
  setAnswerHeaders(res, headOf())
  res.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  })
}
