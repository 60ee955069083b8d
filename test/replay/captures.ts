/**
 * Answers of real providers, as somebody has captured them: one JSON object a line, gzipped, with the bytes of the body. They
 * are not ours to ship: whoever has some says where (`--data`).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { eventFrame } from './event-frames.ts'
import { at, list, text, type Json } from './json.ts'

export const FORMATS = ['openai-compatible', 'anthropic', 'gemini', 'vertex', 'bedrock'] as const
export type Format = (typeof FORMATS)[number]

export interface Capture {
  provider: string
  format: Format
  mode: 'stream' | 'json' | 'error'
  status: number
  contentType: string
  /** Where it was captured. */
  source: string
  body: Buffer
}

export function readCaptures(directory: string): Capture[] {
  const lines = gunzipSync(readFileSync(join(directory, 'captures.jsonl.gz')))
    .toString('utf8')
    .split('\n')
  return lines.filter(Boolean).map((line) => {
    const { body64, ...rest } = JSON.parse(line) as Omit<Capture, 'body'> & { body64: string }
    return { ...rest, contentType: contentTypeOf(rest), body: Buffer.from(body64, 'base64') }
  })
}

/** Some recorders leave out what they think is secret, and this with it. */
function contentTypeOf({ mode, format, contentType }: Omit<Capture, 'body'>): string {
  if (mode !== 'stream') return contentType
  return format === 'bedrock' ? 'application/vnd.amazon.eventstream' : 'text/event-stream'
}

/** We always ask for a stream. An answer in one piece says the same, so it is written as the stream that it would have been. */
export function asStream(capture: Capture): Capture {
  if (capture.mode !== 'json') return capture
  const whole: Json = wholeIn(capture)
  const contentType = contentTypeOf({ ...capture, mode: 'stream' })
  if (capture.format === 'bedrock') return { ...capture, contentType, body: bedrockStreamOf(whole) }
  const events = EVENTS_OF[capture.format](whole)
  return {
    ...capture,
    contentType,
    body: Buffer.from(events.map((event) => `${event}\n\n`).join('')),
  }
}

/** It is not what whoever recorded it says that it is. */
export class Unreadable extends Error {}

function wholeIn({ body, format }: Capture): Json {
  const whole = jsonIn(body.toString('utf8'))
  if (format === 'openai-compatible' && list(whole, 'choices').length === 0) throw new Unreadable()
  return whole
}

export function jsonIn(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    throw new Unreadable()
  }
}

const EVENTS_OF: Record<Exclude<Format, 'bedrock'>, (whole: Json) => string[]> = {
  'openai-compatible': openaiEventsOf,
  anthropic: anthropicEventsOf,
  gemini: geminiEventsOf,
  vertex: geminiEventsOf,
}

const data = (value: unknown) => `data: ${JSON.stringify(value)}`

function openaiEventsOf(whole: Json): string[] {
  const { usage, choices: _, ...head } = whole as Record<string, Json>
  const choices = list(whole, 'choices').map((choice) => {
    const { message, ...rest } = choice as Record<string, Json>
    const calls = list(message, 'tool_calls').map((call, index) => ({ index, ...(call as object) }))
    return { ...rest, delta: { ...(message as object), ...(calls.length > 0 && { tool_calls: calls }) } }
  })
  return [data({ ...head, choices }), data({ ...head, choices: [], usage }), 'data: [DONE]']
}

function anthropicEventsOf(whole: Json): string[] {
  const { content: _, stop_reason, stop_sequence, ...head } = whole as Record<string, Json>
  const usage = at(whole, 'usage') as object
  const blocks = list(whole, 'content').flatMap((block, index) => {
    const isCall = ['tool_use', 'server_tool_use'].includes(text(block, 'type'))
    const start = isCall ? { ...(block as object), input: {} } : block
    const input = { type: 'input_json_delta', partial_json: JSON.stringify(at(block, 'input')) }
    return [
      { type: 'content_block_start', index, content_block: start },
      ...(isCall ? [{ type: 'content_block_delta', index, delta: input }] : []),
      { type: 'content_block_stop', index },
    ]
  })
  const events = [
    {
      type: 'message_start',
      message: { ...head, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\n${data(event)}`)
}

/** Some were asked for as a stream without events, which is a list. */
function geminiEventsOf(whole: Json): string[] {
  return (Array.isArray(whole) ? whole : [whole]).map(data)
}

function bedrockStreamOf(whole: Json): Buffer {
  const frames = list(whole, 'output', 'message', 'content').flatMap((block, contentBlockIndex) => {
    const start = (value: object) => eventFrame('contentBlockStart', { contentBlockIndex, start: value })
    const delta = (value: object) => eventFrame('contentBlockDelta', { contentBlockIndex, delta: value })
    const call = at(block, 'toolUse') as Record<string, Json> | undefined
    const thought = at(block, 'reasoningContent', 'reasoningText')
    const stop = eventFrame('contentBlockStop', { contentBlockIndex })
    if (call) {
      const { input, ...named } = call
      return [start({ toolUse: named }), delta({ toolUse: { input: JSON.stringify(input) } }), stop]
    }
    if (thought) return [delta({ reasoningContent: { text: text(thought, 'text') } }), stop]
    if (at(block, 'reasoningContent')) return [delta({ reasoningContent: at(block, 'reasoningContent') }), stop]
    return at(block, 'text') === undefined ? [] : [delta({ text: text(block, 'text') }), stop]
  })
  return Buffer.concat([
    eventFrame('messageStart', { role: 'assistant' }),
    ...frames,
    eventFrame('messageStop', { stopReason: at(whole, 'stopReason') }),
    eventFrame('metadata', { usage: at(whole, 'usage'), metrics: at(whole, 'metrics') }),
  ])
}
