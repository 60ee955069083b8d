import assert from 'node:assert/strict'
import { NO_USAGE, type Usage } from '../rules/billing/usage.ts'
import { parseChatRequest } from '../rules/calls/chat-request.ts'
import type { Chunk, FinishReason } from '../rules/calls/chunk.ts'
import { UPSTREAM_TIMERS } from '../rules/limits.ts'
import { UpstreamError, type Provider, type UpstreamCall, type UpstreamErrorKind } from './provider.ts'
import { createEventSplitter } from './exchange/event-splitter.ts'
import type { BodyReader } from './body-reader.ts'
import type { UpstreamRequest } from './upstream-request.ts'
import type { Transport } from './transport.ts'

/**
 * Shared by the tests of all adapters: chunks as they are written down, a reader that is given events, and a transport that
 * answers what it is told to. It has no tests of its own; it is named like one because src/ stands alone and tests are not shipped.
 */

export function text(value: string): Chunk {
  return { type: 'text', text: value }
}

export function reasoning(value: string): Chunk {
  return { type: 'reasoning', text: value }
}

export function toolCall(index: number, fragment: string, id?: string, name?: string): Chunk {
  return { type: 'tool_call', index, id, name, arguments: fragment }
}

export function finish(reason: FinishReason, odd?: string): Chunk {
  return { type: 'finish', reason, ...(odd !== undefined && { odd }) }
}

export function usage(input: number, output: number, more: Partial<Usage> = {}): Chunk {
  return { type: 'usage', usage: { ...NO_USAGE, input, output, ...more } }
}

/** More than any of the tests reports. */
export const POSSIBLE = { prompt: 1_000, visible: 1_000, reasoning: 1_000, output: 1_000, isAnswered: true }

export function isUpstreamError(kind: UpstreamErrorKind) {
  return (error: unknown) => {
    assert.ok(error instanceof UpstreamError, `${String(error)} is not an UpstreamError`)
    assert.equal(error.kind, kind)
    return true
  }
}

/** Returns the chunks that a reader makes of events, up to the end of the body. Text is the data of one as it came. */
export function readAll(reader: { read(data: string): Chunk[]; end(): readonly Chunk[] }, events: unknown[]): Chunk[] {
  const data = events.map((event) => (typeof event === 'string' ? event : JSON.stringify(event)))
  return [...data.flatMap((item) => reader.read(item)), ...reader.end()]
}

/** Answers every request with the same events, and remembers it, and of each event whether it was taken for the last. */
export function recordingTransport(...events: unknown[]) {
  const sent: UpstreamRequest[] = []
  const isLastSeen: boolean[] = []
  const transport: Transport = {
    async *exchange<Part, Piece>(request: UpstreamRequest, reader: BodyReader<Part, Piece>) {
      sent.push(request)
      const parts: Part[] = []
      for (const event of events) {
        const data = typeof event === 'string' ? event : JSON.stringify(event)
        reader.split(Buffer.from(`data: ${data}\n\n`), parts)
      }
      for (const part of parts) {
        yield reader.read(part)
        isLastSeen.push(reader.isLast(part))
      }
      yield reader.end()
    },
    close: () => Promise.resolve(),
  }
  return { sent, isLastSeen, transport }
}

/** Returns a provider's answer to "Hi", unless the call says something else. */
export async function answerOf(provider: Provider, call: Partial<UpstreamCall> = {}): Promise<Chunk[]> {
  const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] })
  const whole = { request, upstreamModel: 'u', apiKey: undefined, timers: UPSTREAM_TIMERS, ...call }
  return collect(provider.stream(whole, new AbortController().signal))
}

/** All that comes, whatever of it came together. */
export async function collect<T>(batches: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = []
  for await (const batch of batches) all.push(...batch)
  return all
}

/** Reads nothing into events, and takes the end marker of OpenAI's format for the last. */
export function dataReader(): BodyReader<string, string> {
  return {
    ...createEventSplitter(),
    read: (data) => [data],
    end: () => [],
    isLast: (data) => data === '[DONE]',
    hasBegun: () => true,
    partsPerStep: 32,
  }
}
