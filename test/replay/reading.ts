/**
 * Reads a capture without any of the gateway's code: the text, the thoughts, the calls, the ending and the usage. Written
 * after the providers' documentation, so that a mistake of an adapter is not made twice.
 */
import { jsonIn, type Capture } from './captures.ts'
import { framesOf } from './event-frames.ts'
import { at, count, list, text, type Json } from './json.ts'

export interface Call {
  id: string
  name: string
  arguments: string
}

export interface Reading {
  text: string
  reasoning: string
  refusal: string
  calls: Call[]
  /** In the provider's own word; undefined: it said none. */
  ending: string | undefined
  /** Tokens; undefined: nothing was reported. */
  usage: { prompt: number; cached: number; completion: number } | undefined
  /** The provider says that it failed. */
  hasFailed: boolean
  /** Contents beyond an answer in words and calls. */
  extras: Set<string>
}

type Indexed = Call & { key: unknown }

interface Draft extends Omit<Reading, 'calls'> {
  calls: Indexed[]
}

export function readingOf(capture: Capture): Reading {
  const draft: Draft = {
    text: '',
    reasoning: '',
    refusal: '',
    calls: [],
    ending: undefined,
    usage: undefined,
    hasFailed: false,
    extras: new Set(),
  }
  if (capture.format === 'bedrock') readBedrock(capture.body, draft)
  else for (const event of eventsIn(capture.body)) READERS[capture.format](event, draft)
  return { ...draft, calls: draft.calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given })) }
}

function eventsIn(body: Buffer): Json[] {
  const blocks = body.toString('utf8').replaceAll('\r\n', '\n').split(/\n\n+/)
  const datas = blocks.map((block) =>
    block
      .split('\n')
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice('data:'.length).trim())
      .join('\n'),
  )
  return datas.filter((data) => data !== '' && data !== '[DONE]').map(jsonIn)
}

const READERS = { 'openai-compatible': readOpenAI, anthropic: readAnthropic, gemini: readGemini, vertex: readGemini }

function readOpenAI(event: Json, draft: Draft): void {
  if (at(event, 'error')) failOpenAI(event, draft)
  const usage = at(event, 'usage') ?? at(event, 'x_groq', 'usage')
  if (usage) draft.usage = openaiUsageOf(usage)
  for (const choice of list(event, 'choices')) {
    if (count(choice, 'index') !== 0) draft.extras.add('several choices')
    else readOpenAIChoice(choice, draft)
  }
}

/** A model's text is still its answer if Groq could not use it. */
function failOpenAI(event: Json, draft: Draft): void {
  const isOfModel = text(event, 'error', 'code') === 'tool_use_failed' && draft.text + draft.reasoning !== ''
  if (isOfModel) draft.ending = 'stop'
  else draft.hasFailed = true
}

function readOpenAIChoice(choice: Json, draft: Draft): void {
  const delta = at(choice, 'delta')
  draft.text += text(delta, 'content')
  for (const part of list(delta, 'content')) {
    if (text(part, 'type') === 'text') draft.text += text(part, 'text')
    for (const thought of list(part, 'thinking')) draft.reasoning += text(thought, 'text')
  }
  draft.reasoning += text(delta, 'reasoning_content') || text(delta, 'reasoning')
  draft.refusal += text(delta, 'refusal')
  if (list(delta, 'images').length > 0) draft.extras.add('images')
  for (const call of list(delta, 'tool_calls')) readOpenAICall(call, draft.calls)
  draft.ending = text(choice, 'finish_reason') || draft.ending
}

/** A call is told apart by its index or, where there is none, by a new id. */
function readOpenAICall(call: Json, calls: Indexed[]): void {
  const [id, index] = [text(call, 'id'), at(call, 'index')]
  const isSame = (other: Indexed) => (index == null ? id === '' || other.id === id : other.key === index)
  const known = index == null && id === '' ? calls.at(-1) : calls.find(isSame)
  const isOther = known && id !== '' && known.id !== '' && known.id !== id
  const target = known && !isOther ? known : { key: index, id: '', name: '', arguments: '' }
  if (target !== known) calls.push(target)
  target.id ||= id
  target.name ||= text(call, 'function', 'name')
  const given = at(call, 'function', 'arguments')
  target.arguments += typeof given === 'string' ? given : given == null ? '' : JSON.stringify(given)
}

function openaiUsageOf(usage: Json) {
  const prompt = count(usage, 'prompt_tokens')
  const cached = count(usage, 'prompt_tokens_details.cached_tokens', 'prompt_cache_hit_tokens', 'cached_tokens')
  const completion = count(usage, 'completion_tokens')
  // Where the total is more than the two, thoughts are counted beside the completion, and what was heard beside the prompt.
  const beside = Math.max(count(usage, 'total_tokens') - prompt - completion, 0)
  if (at(usage, 'prompt_audio_seconds') != null) return { prompt: prompt + beside, cached, completion }
  return { prompt, cached: Math.min(cached, prompt), completion: completion + beside }
}

function readAnthropic(event: Json, draft: Draft): void {
  const type = text(event, 'type')
  // One capture has two answers in one body: the first is the answer.
  if (draft.extras.has('stopped')) return
  if (type === 'message_stop') draft.extras.add('stopped')
  if (type === 'error') draft.hasFailed = true
  if (type === 'message_start') draft.usage = anthropicUsageOf(at(event, 'message', 'usage'), draft)
  if (type === 'message_delta') {
    draft.ending = text(event, 'delta', 'stop_reason') || draft.ending
    draft.usage = anthropicUsageOf(at(event, 'usage'), draft)
  }
  if (type === 'content_block_start') startAnthropicBlock(event, draft)
  if (type !== 'content_block_delta') return
  const delta = at(event, 'delta')
  draft.text += text(delta, 'type') === 'text_delta' ? text(delta, 'text') : ''
  draft.reasoning += text(delta, 'thinking')
  const call = draft.calls.find(({ key }) => key === at(event, 'index'))
  if (call) call.arguments += text(delta, 'partial_json')
}

function startAnthropicBlock(event: Json, draft: Draft): void {
  const block = at(event, 'content_block')
  const type = text(block, 'type')
  draft.text += text(block, 'text')
  draft.reasoning += text(block, 'thinking')
  if (type === 'tool_use')
    draft.calls.push({ key: at(event, 'index'), id: text(block, 'id'), name: text(block, 'name'), arguments: '' })
  else if (!['text', 'thinking', 'redacted_thinking'].includes(type)) draft.extras.add('server tools')
}

const anthropicUsage = new WeakMap<Draft, Record<string, number>>()

/** Each report replaces what it names of the ones before. */
function anthropicUsageOf(usage: Json, draft: Draft) {
  const named = Object.entries((usage as object | undefined) ?? {}).filter(([, value]) => typeof value === 'number')
  const all = { ...anthropicUsage.get(draft), ...(Object.fromEntries(named) as Record<string, number>) }
  anthropicUsage.set(draft, all)
  const cached = all.cache_read_input_tokens ?? 0
  const prompt = (all.input_tokens ?? 0) + cached + (all.cache_creation_input_tokens ?? 0)
  return { prompt, cached, completion: all.output_tokens ?? 0 }
}

function readGemini(event: Json, draft: Draft): void {
  if (at(event, 'error')) draft.hasFailed = true
  const usage = at(event, 'usageMetadata')
  if (usage) draft.usage = geminiUsageOf(usage)
  draft.ending = text(event, 'promptFeedback', 'blockReason') ? 'SAFETY' : draft.ending
  if (list(event, 'candidates').length > 1) draft.extras.add('several choices')
  const candidate = at(event, 'candidates', 0)
  for (const part of list(candidate, 'content', 'parts')) readGeminiPart(part, draft)
  draft.ending = text(candidate, 'finishReason') || draft.ending
}

function readGeminiPart(part: Json, draft: Draft): void {
  const call = at(part, 'functionCall')
  if (call) {
    if (at(call, 'willContinue') !== undefined || text(call, 'name') === '') draft.extras.add('calls in pieces')
    const given = JSON.stringify(at(call, 'args') ?? {})
    draft.calls.push({ key: undefined, id: text(call, 'id'), name: text(call, 'name'), arguments: given })
  } else if (at(part, 'thought') === true) draft.reasoning += text(part, 'text')
  else draft.text += text(part, 'text')
  if (at(part, 'inlineData')) draft.extras.add('images')
  if (at(part, 'executableCode') ?? at(part, 'codeExecutionResult') ?? at(part, 'toolCall'))
    draft.extras.add('server tools')
}

function geminiUsageOf(usage: Json) {
  const prompt = count(usage, 'promptTokenCount') + count(usage, 'toolUsePromptTokenCount')
  const completion = count(usage, 'candidatesTokenCount') + count(usage, 'thoughtsTokenCount')
  return { prompt, cached: count(usage, 'cachedContentTokenCount'), completion }
}

function readBedrock(body: Buffer, draft: Draft): void {
  for (const { type, isException, payload } of framesOf(body)) {
    if (isException) draft.hasFailed = true
    const call = at(payload, 'start', 'toolUse')
    if (call && at(call, 'type') === 'server_tool_use') draft.extras.add('server tools')
    else if (call) {
      const key = at(payload, 'contentBlockIndex')
      draft.calls.push({ key, id: text(call, 'toolUseId'), name: text(call, 'name'), arguments: '' })
    }
    if (type === 'contentBlockDelta') readBedrockDelta(payload, draft)
    if (type === 'messageStop') draft.ending = text(payload, 'stopReason')
    const usage = at(payload, 'usage')
    if (type !== 'metadata' || !usage) continue
    const cached = count(usage, 'cacheReadInputTokens')
    const prompt = count(usage, 'inputTokens') + cached + count(usage, 'cacheWriteInputTokens')
    draft.usage = { prompt, cached, completion: count(usage, 'outputTokens') }
  }
}

function readBedrockDelta(payload: Json, draft: Draft): void {
  const delta = at(payload, 'delta')
  draft.text += text(delta, 'text')
  draft.reasoning += text(delta, 'reasoningContent', 'text')
  const call = draft.calls.find(({ key }) => key === at(payload, 'contentBlockIndex'))
  if (call) call.arguments += text(delta, 'toolUse', 'input')
}
