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
  /** Is told of tokens as they are handed to the socket. */
  readonly onTokens: (tokens: number) => void
}

/** Resolves when the exchange is over; says whether the reply was delivered whole. Throws PeerGone. */
export async function send(outgoing: Outgoing): Promise<'completed' | 'fault'> {
  const { wire, script, fault } = outgoing
  const delivery = deliveryOf(outgoing)
  if (script.ttftMs > 0) await wire.pause(script.ttftMs)
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
  for (const event of eventsOf(outgoing)) {
    const midway = event.kind !== 'open' && (contents >= script.after || event.kind !== 'content')
    if (midway && !struck) {
      struck = true
      if (fault?.midway) {
        await fault.midway(delivery)
        return false
      }
      if (fault?.interjection !== undefined) await write(outgoing, framed(outgoing, fault.interjection, false))
    }
    if (event.kind === 'content') {
      if (contents > 0 && script.gapMs > 0) await wire.pause(script.gapMs)
      contents++
    }
    await write(outgoing, framed(outgoing, event.data, event.kind === 'open'))
    outgoing.onTokens(event.tokens)
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

async function write({ wire, script, fault }: Outgoing, text: string): Promise<void> {
  const pieceBytes = fault?.splitBytes ?? script.splitBytes
  await (pieceBytes === 0 ? wire.write(text) : wire.writeSplit(text, pieceBytes))
}

function deliveryOf(outgoing: Outgoing): Delivery {
  return {
    wire: outgoing.wire,
    contentType: outgoing.stream ? 'text/event-stream; charset=utf-8' : 'application/json',
    errorBody: (status, message) => JSON.stringify(outgoing.dialect.errorBody(status, message)),
    wholeBody: () => (outgoing.stream ? streamOf(outgoing) : jsonOf(outgoing)),
  }
}

function jsonOf({ dialect, answer, fault }: Outgoing): string {
  const json = JSON.stringify(dialect.json(answer))
  return fault?.rewrite?.(json) ?? json
}

function streamOf(outgoing: Outgoing): string {
  return [...eventsOf(outgoing)].map((event) => framed(outgoing, event.data, event.kind === 'open')).join('')
}

function* eventsOf({ dialect, answer, fault }: Outgoing): Generator<StreamEvent> {
  for (const event of dialect.events(answer)) {
    if (fault?.withoutDone && event.kind === 'done') return
    yield fault?.rewrite ? { ...event, data: fault.rewrite(event.data) } : event
  }
}

function framed({ script, fault }: Outgoing, data: string, first: boolean): string {
  const frame = fault?.frame?.(data, first) ?? `data: ${data}\n\n`
  const newline = fault?.newline ?? script.newline
  return newline === '\n' ? frame : frame.replaceAll('\n', newline)
}
