/** A client for the simulator's tests that reports what it saw on the wire and never throws for it. */
import { request } from 'node:http'
import type { Agent, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { createParser } from 'eventsource-parser'

export interface Seen {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
  /** How many reads the body took. */
  readonly reads: number
  /** The response ended as it should, broke with an error, or nothing more came for `patienceMs`. */
  readonly end: 'complete' | 'broken' | 'stalled'
  readonly errorCode: string | undefined
}

export interface Question {
  /** For a dialect other than the chat completions. */
  readonly path?: string
  readonly body?: Record<string, unknown>
  readonly headers?: Record<string, string>
  readonly patienceMs?: number
  readonly agent?: Agent
  /** The client hangs up as soon as the body received so far satisfies this. */
  readonly leaveWhen?: (text: string) => boolean
}

export function chatBody(model: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { model, messages: [{ role: 'user', content: 'What is the capital of France?' }], ...more }
}

export const STREAM = { stream: true, stream_options: { include_usage: true } }

export function ask(url: string, question: Question): Promise<Seen> {
  const { promise, resolve } = Promise.withResolvers<Seen>()
  const parts: Buffer[] = []
  let response: IncomingMessage | undefined

  function finish(end: Seen['end'], error?: NodeJS.ErrnoException): void {
    clearTimeout(patience)
    const bytes = Buffer.concat(parts)
    resolve({
      status: response?.statusCode,
      headers: response?.headers ?? {},
      bytes,
      text: bytes.toString(),
      reads: parts.length,
      end,
      errorCode: error?.code,
    })
    if (end !== 'complete') outgoing.destroy()
  }

  const patience = setTimeout(() => finish('stalled'), question.patienceMs ?? 4000)
  const outgoing = request(`${url}${question.path ?? '/v1/chat/completions'}`, {
    method: 'POST',
    headers: { authorization: 'Bearer test', 'content-type': 'application/json', ...question.headers },
    agent: question.agent ?? false,
  })
  outgoing.once('error', (error) => finish('broken', error))
  outgoing.once('response', (incoming) => {
    response = incoming
    incoming.on('data', (part: Buffer) => {
      parts.push(part)
      patience.refresh()
      if (question.leaveWhen?.(Buffer.concat(parts).toString())) finish('broken')
    })
    incoming.once('error', (error) => finish('broken', error))
    incoming.once('end', () => finish('complete'))
  })
  outgoing.end(JSON.stringify(question.body))
  return promise
}

/** Every byte that comes back until it is enough, the connection ends or nothing more comes, and how the socket failed. */
export function askRaw(
  port: number,
  body: Record<string, unknown>,
  isEnough: (text: string) => boolean,
): Promise<{ text: string; errorCode: string | undefined }> {
  const payload = JSON.stringify(body)
  const { promise, resolve } = Promise.withResolvers<{ text: string; errorCode: string | undefined }>()
  const socket = connect({ port, host: '127.0.0.1' })
  const quiet = setTimeout(() => socket.destroy(), 1000)
  let text = ''
  let errorCode: string | undefined
  socket.setEncoding('utf8')
  socket.on('data', (part: string) => {
    text += part
    quiet.refresh()
    if (isEnough(text)) socket.destroy()
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    errorCode = error.code
  })
  socket.once('close', () => {
    clearTimeout(quiet)
    resolve({ text, errorCode })
  })
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: simulator\r\nauthorization: Bearer test\r\ncontent-length: ${Buffer.byteLength(payload)}\r\n\r\n${payload}`,
  )
  return promise
}

/** Polls, because a server learns of a peer's departure when the system tells it. */
export async function eventually(isTrue: () => boolean, what: string): Promise<void> {
  for (let attempt = 0; attempt < 1_500; attempt++) {
    if (isTrue()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`never happened: ${what}`)
}

/** The data of every event that a parser of the standard dispatches. */
export function eventsIn(text: string): string[] {
  const events: string[] = []
  const parser = createParser({ onEvent: (event) => events.push(event.data) })
  parser.feed(text)
  return events
}

export interface ChunkSeen {
  id: string
  choices: {
    delta: {
      role?: string
      content?: string | null
      tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[]
    }
    finish_reason: string | null
  }[]
  usage?: unknown
  error?: { message: string }
}

export function chunksIn(text: string): ChunkSeen[] {
  return eventsIn(text)
    .filter((data) => data !== '[DONE]')
    .map((data): ChunkSeen => JSON.parse(data))
}

export function contentIn(text: string): string {
  return chunksIn(text)
    .map((chunk) => chunk.choices?.[0]?.delta.content ?? '')
    .join('')
}
