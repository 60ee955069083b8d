/** Puts an answer on the wire, at the script's pace and with its fault. */
import type { Answer, Dialect, StreamEvent } from './dialect.ts'
import type { Delivery, Fault } from './faults.ts'
import type { Script } from './script.ts'
import type { Wire } from './wire.ts'

export interface Outgoing {
  readonly wire: Wire
  readonly dialect: Dialect
  readonly answer: Answer
  readonly stream: boolean
  readonly script: Script
  readonly fault: Fault | undefined
  /** Is told of tokens as they are handed to the socket, and of shown thoughts. */
  readonly onTokens: (tokens: number, thoughtTokens?: number) => void
  /** Everything was thought that is not shown. */
  readonly onThought: () => void
}

/** Resolves when the exchange is over; says whether the reply was delivered whole. Throws PeerGone. */
export async function send(outgoing: Outgoing): Promise<'completed' | 'fault'> {
  const { wire, script, fault } = outgoing
  const delivery = deliveryOf(outgoing)
  if (script.ttftMs > 0) await wire.pause(script.ttftMs)
  outgoing.onThought()
  if (fault?.instead) {
    await fault.instead(delivery)
    return 'fault'
  }
  const whole = await (outgoing.stream ? sendStream(outgoing, delivery) : sendJson(outgoing, delivery))
  if (!whole) return 'fault'
  fault?.afterwards?.(delivery)
  return 'completed'
}

async function sendStream(outgoing: Outgoing, delivery: Delivery): Promise<boolean> {
  const { wire, script, fault } = outgoing
  sendHead(outgoing, delivery, {})
  let contents = 0
  let struck = false
  let isFirst = true
  if (fault?.opening !== undefined) {
    await write(outgoing, framed(outgoing, { data: fault.opening }, true))
    await wire.pause(script.gapMs)
    isFirst = false
  }
  for (const event of eventsOf(outgoing)) {
    const midway = event.kind !== 'open' && (contents >= script.after || event.kind !== 'content')
    if (midway && !struck) {
      struck = true
      if (fault?.midway) {
        await fault.midway(delivery)
        return false
      }
      if (fault?.interjection !== undefined)
        await write(outgoing, framed(outgoing, interjected(outgoing, fault.interjection), false))
    }
    if (script.error !== undefined && (event.kind === 'close' || event.kind === 'done')) {
      await wire.write(delivery.errorEvent(400, script.error))
      await wire.end()
      return true
    }
    if (event.kind === 'content') {
      if (contents > 0 && script.gapMs > 0) await wire.pause(script.gapMs)
      contents++
    }
    await write(outgoing, framed(outgoing, event, isFirst))
    isFirst = false
    outgoing.onTokens(event.tokens, event.thoughtTokens)
  }
  await wire.end()
  return true
}

async function sendJson(outgoing: Outgoing, delivery: Delivery): Promise<boolean> {
  const { wire, answer, script, fault } = outgoing
  const generationMs = script.gapMs * Math.max(0, answer.reply.pieces.length - 1)
  if (generationMs > 0) await wire.pause(generationMs)
  const body = jsonOf(outgoing)
  if (fault?.midway) {
    sendHead(outgoing, delivery, {})
    await write(outgoing, body.slice(0, body.length / 2))
    await fault.midway(delivery)
    return false
  }
  sendHead(outgoing, delivery, { 'content-length': String(Buffer.byteLength(body)) })
  await write(outgoing, body)
  outgoing.onTokens(answer.reply.tokens)
  await wire.end()
  return true
}

function sendHead({ wire, fault }: Outgoing, delivery: Delivery, headers: Record<string, string>): void {
  if (fault?.unframed) wire.unframe()
  wire.head(200, { 'content-type': delivery.contentType, ...headers, ...fault?.headers?.(delivery) })
}

async function write({ wire, script, fault }: Outgoing, bytes: string | Uint8Array): Promise<void> {
  const pieceBytes = fault?.splitBytes ?? script.splitBytes
  await (pieceBytes === 0 ? wire.write(bytes) : wire.writeSplit(bytes, pieceBytes))
}

function deliveryOf(outgoing: Outgoing): Delivery {
  const { dialect, stream } = outgoing
  const streamType = dialect.framing?.contentType ?? 'text/event-stream; charset=utf-8'
  const errorBody = (status: number, message: string) => JSON.stringify(dialect.errorBody(status, message))
  return {
    wire: outgoing.wire,
    contentType: stream ? streamType : 'application/json',
    errorBody,
    errorEvent: (status, message) =>
      plainlyFramed(dialect, { data: errorBody(status, message), name: dialect.eventNames?.error }),
    eventBeginning: (bytes) => dialect.framing?.beginning(bytes) ?? 'data: {"padding":"',
    wholeBody: () => (stream ? streamOf(outgoing) : Buffer.from(jsonOf(outgoing))),
  }
}

function jsonOf({ dialect, answer, fault }: Outgoing): string {
  const json = JSON.stringify(dialect.json(answer))
  return fault?.rewrite?.(json) ?? json
}

function streamOf(outgoing: Outgoing): Buffer {
  const frames = [...eventsOf(outgoing)].map((event, at) => framed(outgoing, event, at === 0))
  return Buffer.concat(frames.map((frame) => Buffer.from(frame)))
}

function* eventsOf({ dialect, answer, fault }: Outgoing): Generator<StreamEvent> {
  for (const event of dialect.events(answer)) {
    if (fault?.withoutDone && event.kind === 'done') return
    if (!fault?.rewrite) yield event
    else {
      const data = fault.rewrite(event.data, event.kind)
      if (data !== undefined) yield { ...event, data }
    }
  }
}

type Framed = Pick<StreamEvent, 'data' | 'name'> & Partial<Pick<StreamEvent, 'kind'>>

function interjected({ dialect }: Outgoing, data: string): Framed {
  return dialect.eventNames ? { data, name: dialect.eventNames.content } : { data }
}

function nameLine(name: string | undefined): string {
  return name === undefined ? '' : `event: ${name}\n`
}

function plainlyFramed({ framing }: Dialect, event: Framed): string | Uint8Array {
  return framing?.frame(event) ?? `${nameLine(event.name)}data: ${event.data}\n\n`
}

function framed({ dialect, script, fault }: Outgoing, event: Framed, first: boolean): string | Uint8Array {
  const isLast = event.kind === 'done'
  const frame = fault?.frame?.(event.data, first, nameLine(event.name), isLast) ?? plainlyFramed(dialect, event)
  if (typeof frame !== 'string') return frame
  const newline = fault?.newline ?? script.newline
  return newline === '\n' ? frame : frame.replaceAll('\n', newline)
}
