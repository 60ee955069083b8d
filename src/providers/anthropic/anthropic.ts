import { z } from 'zod'
import type { Chunk, FinishChunk } from '../../rules/calls/chunk.ts'
import type { Usage } from '../../rules/billing/usage.ts'
import { isRecord } from '../../rules/record.ts'
import { requestBodyOf, unhonouredIn } from './anthropic-request.ts'
import { SIGNED_BY } from './anthropic-turns.ts'
import { withBreakpoints } from '../cache-breakpoints.ts'
import { ANTHROPIC_ENDINGS, finishOf, isBlockedOutput, oddFinish } from '../endings.ts'
import { withExtra } from '../extra-body.ts'
import { UpstreamError, type Provider, type UpstreamErrorKind } from '../provider.ts'
import { parseObject, readEvents, type EventReader } from '../read-events.ts'
import { createSignedThoughts } from '../reasoning-signature.ts'
import type { Transport } from '../transport.ts'
import { countOf, createUsageSoFar } from '../reported-usage.ts'

/** Not the newest: 2026-10-21 answers the same, and refuses the sampling fields for the older models that have them. */
const VERSION = '2023-06-01'

/** Anthropic wants a maximum and OpenAI's callers need not give one. Small enough for every model that is served. */
const DEFAULT_MAX_TOKENS = 8_192

const settingsSchema = z.strictObject({
  /** Sent with each request, such as `anthropic-beta`. */
  headers: z.record(z.string().toLowerCase(), z.string()).default({}),
  /** For requests that set no maximum themselves. */
  defaultMaxTokens: z.int().positive().default(DEFAULT_MAX_TOKENS),
})

export interface AnthropicOptions {
  name: string
  /** Up to and including the version: `https://api.anthropic.com/v1`. */
  baseUrl: string
  /** See `settingsSchema`. */
  settings: unknown
  transport: Transport
}

export function createAnthropic(options: AnthropicOptions): Provider {
  const url = `${options.baseUrl.replace(/\/+$/, '')}/messages`
  const settings = settingsSchema.parse(options.settings ?? {})
  return {
    name: options.name,
    cannotHonour: unhonouredIn,
    stream({ request, upstreamModel, apiKey, timers, onSent, extraBody, endUser, cache }, signal) {
      const headers: Record<string, string> = { ...settings.headers, 'anthropic-version': VERSION }
      if (apiKey !== undefined) headers['x-api-key'] = apiKey
      const plain = requestBodyOf(request, upstreamModel, settings.defaultMaxTokens, endUser)
      const body = JSON.stringify(withExtra(withBreakpoints(plain, upstreamModel, cache), extraBody))
      const exchange = { url, headers, body, timers, onSent, kindOfRefusal }
      return readEvents(options.transport, exchange, createReader(), signal)
    },
  }
}

/** How the messages of a 400 begin that is about the operator's account. Anywhere else a caller's words could stand. */
const ACCOUNT_REFUSALS = [
  'Your credit balance is too low',
  'You have reached your specified API usage limits',
  'This organization has been disabled',
]

export function kindOfRefusal(status: number, body: string): UpstreamErrorKind | undefined {
  if (status !== 400) return undefined
  const error = recordIn(parseObject(body)?.error)
  const message = typeof error?.message === 'string' ? error.message : ''
  return ACCOUNT_REFUSALS.some((beginning) => message.startsWith(beginning)) ? 'key_rejected' : undefined
}

/**
 * The finish is given out last, when the end marker has come.
 *
 * Checked by hand, because most events are deltas of a few letters and a schema would take longer to judge one than
 * JSON.parse takes to read it.
 */
export function createReader(): EventReader {
  const tools = createToolBlocks()
  const thoughts = createSignedThoughts(SIGNED_BY)
  const soFar = createUsageSoFar()
  let atStart: Counts = {}
  let usageAtStart: Usage | undefined
  let atEnd: Counts | undefined
  let finish: FinishChunk | undefined
  let hasBegun = false
  let isDone = false

  function readMessageDelta(event: Record<string, unknown>): void {
    const reason = mustBeRecord(event.delta).stop_reason
    if (reason != null) finish = finishOf(mustBeString(reason), ANTHROPIC_ENDINGS)
    // The counts at the start include only the first token of the answer: alone they are no report.
    const usage = recordIn(event.usage)
    if (usage) atEnd = { ...atEnd, ...countsIn(usage) }
  }

  function endChunks(): Chunk[] {
    if (finish === undefined) throw new UpstreamError('truncated')
    isDone = true
    const signature = thoughts.signature()
    const end: Chunk[] = signature === undefined ? [finish] : [{ type: 'reasoning_signature', signature }, finish]
    return atEnd ? [...end, { type: 'usage', usage: usageFromAnthropic(atStart, atEnd) }] : end
  }

  function withUsageAtStart(chunks: Chunk[]): Chunk[] {
    hasBegun ||= chunks.length > 0
    return soFar.after(chunks, usageAtStart)
  }

  return {
    read(data) {
      if (isDone) return []
      const event = parseObject(data)
      if (typeof event?.type !== 'string') throw new UpstreamError('bad_event')
      switch (event.type) {
        case 'content_block_delta':
          return withUsageAtStart(deltaChunks(event, tools, thoughts))
        case 'content_block_start':
          return withUsageAtStart(startChunks(event, tools, thoughts))
        case 'content_block_stop':
          return tools.stop(event.index)
        case 'message_start':
          atStart = countsIn(recordIn(mustBeRecord(event.message).usage) ?? {})
          if (atStart.input_tokens !== undefined) usageAtStart = usageFromAnthropic(atStart, { output_tokens: 0 })
          return []
        case 'message_delta':
          readMessageDelta(event)
          return []
        case 'message_stop':
          return endChunks()
        case 'error':
          finish = finishOfError(recordIn(event.error), hasBegun)
          return endChunks()
        default:
          // Pings, and what may be added one day.
          return []
      }
    },
    end() {
      if (!isDone) throw new UpstreamError('truncated')
      return []
    },
    isLast: () => isDone,
  }
}

interface ToolBlocks {
  start(block: Record<string, unknown>, index: unknown): Chunk[]
  /** The block belongs to a tool that the provider runs itself. */
  ignore(index: unknown): void
  delta(fragment: string, index: unknown): Chunk[]
  stop(index: unknown): Chunk[]
}

/** Blocks are counted together with text and thoughts; OpenAI's index counts the calls alone. */
function createToolBlocks(): ToolBlocks {
  const blocks = new Map<unknown, { call: number; rest: string | undefined } | undefined>()
  let calls = 0
  return {
    start({ id, name, input }, index) {
      if (typeof index !== 'number') throw new UpstreamError('bad_event')
      const call = calls++
      blocks.set(index, { call, rest: JSON.stringify(recordIn(input) ?? {}) })
      return [{ type: 'tool_call', index: call, id: mustBeString(id), name: mustBeString(name), arguments: '' }]
    },
    ignore: (index) => void blocks.set(index, undefined),
    delta(fragment, index) {
      if (!blocks.has(index)) throw new UpstreamError('bad_event')
      const block = blocks.get(index)
      if (!block || fragment === '') return []
      block.rest = undefined
      return [argumentsOf(block.call, fragment)]
    },
    stop(index) {
      const block = blocks.get(index)
      blocks.delete(index)
      // A call without arguments comes without fragments, and no caller can parse nothing as JSON.
      return block?.rest === undefined ? [] : [argumentsOf(block.call, block.rest)]
    },
  }
}

function argumentsOf(index: number, fragment: string): Chunk {
  return { type: 'tool_call', index, id: undefined, name: undefined, arguments: fragment }
}

type Thoughts = ReturnType<typeof createSignedThoughts>

function startChunks(event: Record<string, unknown>, tools: ToolBlocks, thoughts: Thoughts): Chunk[] {
  const block = mustBeRecord(event.content_block)
  switch (mustBeString(block.type)) {
    case 'text':
      return contentChunks('text', block.text)
    case 'thinking':
      if (typeof block.signature === 'string') thoughts.addSignature(event.index, block.signature)
      return thoughtChunks(event.index, block.thinking, thoughts)
    case 'redacted_thinking':
      if (typeof block.data === 'string') thoughts.addRedacted(event.index, block.data)
      return []
    case 'tool_use':
      return tools.start(block, event.index)
    default:
      tools.ignore(event.index)
      return []
  }
}

/** Citations are not passed on. */
function deltaChunks(event: Record<string, unknown>, tools: ToolBlocks, thoughts: Thoughts): Chunk[] {
  const delta = mustBeRecord(event.delta)
  switch (mustBeString(delta.type)) {
    case 'text_delta':
      return contentChunks('text', delta.text)
    case 'thinking_delta':
      return thoughtChunks(event.index, delta.thinking, thoughts)
    case 'signature_delta':
      thoughts.addSignature(event.index, mustBeString(delta.signature))
      return []
    case 'input_json_delta':
      return tools.delta(mustBeString(delta.partial_json), event.index)
    default:
      return []
  }
}

function thoughtChunks(index: unknown, value: unknown, thoughts: Thoughts): Chunk[] {
  const chunks = contentChunks('reasoning', value)
  thoughts.addText(index, mustBeString(value))
  return chunks
}

/** An empty text is not yet an answer, and until there is one another deployment may be tried. */
function contentChunks(type: 'text' | 'reasoning', value: unknown): Chunk[] {
  const text = mustBeString(value)
  return text === '' ? [] : [{ type, text }]
}

/** An answer that is blocked midway was written, and has ended: the part that was already passed on remains. */
function finishOfError(error: Record<string, unknown> | undefined, hasBegun: boolean): FinishChunk {
  if (!hasBegun || !isBlockedOutput(error?.message)) throw new UpstreamError(kindOfError(error?.type))
  return oddFinish('content_filter', 'output_blocked')
}

function kindOfError(type: unknown): UpstreamErrorKind {
  if (type === 'overloaded_error') return 'server_error'
  if (type === 'invalid_request_error') return 'rejected'
  return type === 'rate_limit_error' ? 'rate_limited' : 'error_in_200'
}

type Counts = Record<string, unknown>

/** A count that is null is one that is not given; an explicit zero is believed. */
function countsIn(usage: Record<string, unknown>): Counts {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count != null))
}

/** Anthropic's input excludes both kinds of cached tokens. The counts at the end are those of the whole message. */
function usageFromAnthropic(atStart: Counts, atEnd: Counts): Usage {
  const counts = { ...atStart, ...atEnd }
  const reasoning = countOf(recordIn(counts.output_tokens_details)?.thinking_tokens ?? 0)
  return {
    input: countOf(counts.input_tokens),
    cachedInput: countOf(counts.cache_read_input_tokens ?? 0),
    cacheWrite: countOf(counts.cache_creation_input_tokens ?? 0),
    output: countOf(atEnd.output_tokens) - reasoning,
    reasoning,
  }
}

function recordIn(value: unknown): Record<string, unknown> | undefined {
  return isRecord(value) ? value : undefined
}

function mustBeRecord(value: unknown): Record<string, unknown> {
  const record = recordIn(value)
  if (!record) throw new UpstreamError('bad_event')
  return record
}

function mustBeString(value: unknown): string {
  if (typeof value !== 'string') throw new UpstreamError('bad_event')
  return value
}
