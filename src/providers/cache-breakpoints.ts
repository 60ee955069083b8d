import { isRecord } from '../rules/record.ts'
import type { CallOptions } from './bedrock/ai-sdk-request.ts'
import type { ConversationCache } from './provider.ts'

/**
 * Anthropic's models cache a prompt only up to marks in it, at most four. A mark finds what an earlier request wrote at most
 * 20 blocks before it, so there is one where the request before has ended, however much was said since. The first three
 * (after the tools, the system text and that turn) are mostly read; what the last turn adds is written for the next one.
 *
 * Both functions work on the finished body of a request, and leave it alone when its caller has marked anything.
 */

const MARK = { type: 'ephemeral' }

interface MessagesBody {
  tools?: readonly object[] | undefined
  system?: readonly object[] | undefined
  messages: readonly { role: string; content: readonly object[] }[]
}

/** For Anthropic's Messages. */
export function withBreakpoints<Body extends MessagesBody>(
  body: Body,
  upstreamModel: string,
  cache: ConversationCache | undefined,
): Body {
  const { tools, system, messages } = body
  const prompt = [tools, system, messages]
  if (!cache?.isReturning || isMarked([body, ...prompt]) || !isLongEnough(prompt, minimumOf(upstreamModel))) return body
  const ends = new Set(endsOf(messages))
  return {
    ...body,
    tools: tools && withMark(tools),
    system: system && withMark(system),
    messages: messages.map((turn, at) => (ends.has(at) ? markedTurn(turn) : turn)),
  }
}

function markedTurn<Turn extends MessagesBody['messages'][number]>(turn: Turn): Turn {
  return { ...turn, content: withMark(turn.content) }
}

/** Thoughts cannot be marked. */
const UNMARKABLE = new Set<unknown>(['thinking', 'redacted_thinking'])

function withMark(blocks: readonly object[]): object[] {
  const last = blocks.findLastIndex((block: { type?: unknown }) => !UNMARKABLE.has(block.type))
  return last === -1 ? [...blocks] : blocks.with(last, { ...blocks[last], cache_control: MARK })
}

/** A model without prompt caching refuses these points, so only those that are known to have it get any. */
const CACHED_AT_BEDROCK =
  /\banthropic\.claude-(?:3-7-|3-5-haiku-|[a-z]+-\d)|\bamazon\.nova-(?:2|micro|lite|pro|premier)/

/** Whether its callers' own marks may be passed on. */
export function takesCachePoints(upstreamModel: string): boolean {
  return CACHED_AT_BEDROCK.test(upstreamModel)
}

const CACHE_POINT = { amazonBedrock: { cachePoint: { type: 'default' } } }

/** For Bedrock's Converse. The tools stand before the system text, and are cached with it. */
export function withCachePoints(
  options: CallOptions,
  upstreamModel: string,
  cache: ConversationCache | undefined,
): CallOptions {
  const { prompt, tools } = options
  if (!cache?.isReturning || !takesCachePoints(upstreamModel)) return options
  if (isMarked(prompt) || !isLongEnough([prompt, tools], minimumOf(upstreamModel))) return options
  const ends = new Set([prompt.findLastIndex(({ role }) => role === 'system'), ...endsOf(prompt)])
  return {
    ...options,
    prompt: prompt.map((message, at) => (ends.has(at) ? withPoint(message) : message)),
  }
}

function withPoint<Message extends CallOptions['prompt'][number]>(message: Message): Message {
  return { ...message, providerOptions: CACHE_POINT }
}

/** The turns with which this request and the one before have ended: an answer has come in between. */
function endsOf(turns: readonly { role: string }[]): number[] {
  const answer = turns.findLastIndex(({ role }) => role === 'assistant')
  const before = turns.findLastIndex(({ role }, at) => at < answer && role !== 'assistant' && role !== 'system')
  return [before, turns.length - 1]
}

/** The shortest prompt that a model caches, in tokens. A shorter one may be marked all the same: that changes nothing. */
const MINIMA: readonly (readonly [RegExp, number])[] = [
  [/opus-4[-.][56]|haiku-4[-.]5/, 4_096],
  [/opus-4[-.]7|haiku-3|3([-.]5)?-haiku/, 2_048],
  [/opus-5/, 512],
]
const MINIMUM_OF_MOST = 1_024

function minimumOf(upstreamModel: string): number {
  return MINIMA.find(([name]) => name.test(upstreamModel))?.[1] ?? MINIMUM_OF_MOST
}

/** A token of text is rarely shorter in any language. Nothing is lost by a mark in vain, and much by one that is missing. */
const BYTES_PER_TOKEN = 3

function isLongEnough(prompt: unknown, tokensMin: number): boolean {
  const waiting = [prompt]
  let bytes = 0
  while (waiting.length > 0 && bytes < tokensMin * BYTES_PER_TOKEN) {
    const next = waiting.pop()
    if (typeof next === 'string') bytes += Buffer.byteLength(next)
    // One by one: a list may be longer than a call has room for arguments.
    else if (typeof next === 'object' && next !== null) for (const item of Object.values(next)) waiting.push(item)
  }
  return bytes >= tokensMin * BYTES_PER_TOKEN
}

/** The caller knows better what will come again. What a tool was given may well have such names in it, and is no mark. */
function isMarked(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isMarked)
  if (!isRecord(value)) return false
  if (value.cache_control !== undefined || value.cachePoint !== undefined) return true
  return isMarked(value.content) || isMarked(value.providerOptions) || isMarked(value.amazonBedrock)
}
