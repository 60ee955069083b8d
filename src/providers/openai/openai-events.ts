import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Usage } from '../../rules/billing/usage.ts'
import type { Chunk, FinishChunk, FinishReason } from '../../rules/calls/chunk.ts'
import { finishOf, GEMINI_ENDINGS, kindOfErrorEvent, oddFinish, OPENAI_ENDINGS } from '../endings.ts'
import { fieldsIn } from '../../rules/record.ts'
import { UpstreamError } from '../provider.ts'
import { jsonIn, type EventReader } from '../read-events.ts'
import { countOf, createUsageSoFar } from '../reported-usage.ts'
import { createTextFrame } from './text-frame.ts'

/** The events of OpenAI's format, and all that the many providers of it write otherwise. */

/** Far more than any model calls at once: an index beyond it is a provider's mistake. */
const TOOL_CALL_INDEX_MAX = 100_000

function isEndMarker(data: string): boolean {
  return data === '[DONE]'
}

/**
 * The finish is given out last: when the end marker has come, or when the body has ended after a reason to finish, which is
 * all that some send.
 */
export function createReader(): EventReader {
  let finish: FinishChunk | undefined
  let usage: Usage | undefined
  let hasBegun = false
  let isDone = false
  const calls = createCalls()
  const soFar = createUsageSoFar()
  const frame = createTextFrame((data) => plainTextIn(jsonIn(data)))

  function endChunks(): Chunk[] {
    // Some give no reason, and say with the end marker that this was all.
    if (hasBegun) finish ??= oddFinish(calls.count() > 0 ? 'tool_calls' : 'stop', 'missing')
    if (finish === undefined) throw new UpstreamError('truncated')
    isDone = true
    const empty = finish.reason === 'length' ? [] : calls.withoutArguments()
    return usage === undefined ? [...empty, finish] : [...empty, finish, { type: 'usage', usage }]
  }

  return {
    read(data) {
      if (isDone) return []
      if (isEndMarker(data)) return endChunks()
      const framed = usage === undefined ? frame.textIn(data) : undefined
      if (framed !== undefined) return [{ type: 'text', text: framed }]
      const json = jsonIn(data)
      const plain = plainTextIn(json)
      if (plain !== undefined && usage === undefined) {
        hasBegun = true
        frame.learn(data, plain)
        return [{ type: 'text', text: plain }]
      }
      const event = checkEvent(json)
      if (event.error != null) {
        finish = finishOfError(event.error, hasBegun)
        return endChunks()
      }
      const reported = event.usage ?? event.x_groq?.usage
      if (reported != null) usage = usageFromOpenAI(reported)
      const choice = event.choices?.find((candidate) => (candidate.index ?? 0) === 0)
      if (!choice) return []
      if (choice.finish_reason) finish = finishIn(choice.finish_reason, choice.native_finish_reason)
      const chunks = chunksOf(choice.delta ?? {}, calls)
      const said = choice.logprobs?.content && chunks.find((chunk) => chunk.type === 'text')
      if (said) said.logprobs = choice.logprobs?.content ?? []
      hasBegun ||= chunks.length > 0
      return soFar.after(chunks, usage)
    },
    end() {
      if (isDone) return []
      if (finish === undefined) throw new UpstreamError('truncated')
      return endChunks()
    },
    isLast: (data) => isDone || isEndMarker(data),
  }
}

const text = z.string().nullish()
const anything = z.unknown().optional()
const count = anything

/** Counts are judged later: a wrong one is no reason to lose the answer. */
const upstreamUsage = z
  .object({
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    prompt_tokens_details: z.object({ cached_tokens: count, cache_write_tokens: count }).nullish().catch(undefined),
    completion_tokens_details: z.object({ reasoning_tokens: count }).nullish().catch(undefined),
    // DeepSeek's and Moonshot's names for what others have in the details.
    prompt_cache_hit_tokens: count,
    cached_tokens: count,
    // Mistral's: what was heard is in the total, and in no other count.
    prompt_audio_seconds: count,
  })
  .nullish()
  .catch(undefined)

/**
 * The fields that we read of an event. A provider's mistake must end as its error, not as a crash of ours or nonsense to the
 * caller.
 */
const upstreamEvent = z.object({
  error: z.unknown().optional(),
  choices: z
    .array(
      z.object({
        index: z.number().nullish(),
        delta: z
          .object({
            // Checked by hand: a text in almost every event, and a list of parts at Mistral.
            content: anything,
            refusal: text,
            reasoning_content: text,
            reasoning: text,
            tool_calls: z
              .array(
                z.object({
                  index: z.int().min(0).max(TOOL_CALL_INDEX_MAX).nullish(),
                  id: text,
                  function: z.object({ name: text, arguments: text }).nullish(),
                }),
              )
              .nullish(),
          })
          .nullish(),
        logprobs: z
          .object({ content: z.array(z.unknown()).nullish() })
          .nullish()
          .catch(undefined),
        finish_reason: text,
        native_finish_reason: text.catch(undefined),
      }),
    )
    .nullish(),
  usage: upstreamUsage,
  // Groq's own place for it, also where nobody asked for usage.
  x_groq: z.object({ usage: upstreamUsage }).nullish().catch(undefined),
})
type UpstreamEvent = z.output<typeof upstreamEvent>
type Delta = NonNullable<NonNullable<NonNullable<UpstreamEvent['choices']>[number]['delta']>>
type UpstreamUsage = NonNullable<UpstreamEvent['usage']>

/**
 * The text of an event that brings a piece of text and nothing else, as nearly all do: to check it by the schema would take longer
 * than to parse it. Undefined for any other, also for one that is wrong.
 */
function plainTextIn(event: unknown): string | undefined {
  const { choices, error, usage, x_groq } = fieldsIn(event)
  if (error != null || usage != null || x_groq != null) return undefined
  if (!Array.isArray(choices) || choices.length !== 1) return undefined
  const { index, delta, finish_reason, logprobs } = fieldsIn(choices[0])
  if ((index != null && index !== 0) || finish_reason != null || logprobs != null) return undefined
  const { content, refusal, reasoning_content, reasoning, tool_calls } = fieldsIn(delta)
  if (refusal != null || reasoning_content != null || reasoning != null || tool_calls != null) return undefined
  return typeof content === 'string' && content !== '' ? content : undefined
}

function checkEvent(event: unknown): UpstreamEvent {
  const result = upstreamEvent.safeParse(event)
  if (!result.success) throw new UpstreamError('bad_event')
  return result.data
}

/** Empty deltas are dropped: the role alone is not yet an answer, and until there is one another deployment may be tried. */
function chunksOf(delta: Delta, calls: Calls): Chunk[] {
  const chunks: Chunk[] = []
  const reasoning = delta.reasoning_content ?? delta.reasoning
  if (reasoning) chunks.push({ type: 'reasoning', text: reasoning })
  if (typeof delta.content === 'string') {
    if (delta.content !== '') chunks.push({ type: 'text', text: delta.content })
  } else if (delta.content != null) chunks.push(...chunksOfParts(delta.content))
  if (delta.refusal) chunks.push({ type: 'refusal', text: delta.refusal })
  for (const call of delta.tool_calls ?? []) {
    if (call.id || call.function?.name || call.function?.arguments) chunks.push(calls.chunkOf(call))
  }
  return chunks
}

const contentParts = z.array(
  z.object({ type: text, text, thinking: z.union([z.string(), z.array(z.object({ text }))]).nullish() }),
)

/** Mistral's: text and thoughts in one list, and places that they refer to, which have no text of their own. */
function chunksOfParts(content: unknown): Chunk[] {
  const parts = contentParts.safeParse(content)
  if (!parts.success) throw new UpstreamError('bad_event')
  const chunks = parts.data.map((part): Chunk => {
    const { thinking } = part
    if (thinking == null) return { type: 'text', text: part.text ?? '' }
    const thoughts = typeof thinking === 'string' ? thinking : thinking.map((thought) => thought.text ?? '').join('')
    return { type: 'reasoning', text: thoughts }
  })
  return chunks.filter((chunk) => 'text' in chunk && chunk.text !== '')
}

type UpstreamToolCall = NonNullable<Delta['tool_calls']>[number]
type Calls = ReturnType<typeof createCalls>

/** The calls of one answer. What providers leave out, callers still get: an index, an id, and arguments that are JSON. */
function createCalls() {
  const known = new Map<number, { id: string; hasArguments: boolean }>()
  let last = -1
  let next = 0

  /** Without an index, a new id or a name begins a new call. */
  function indexOf({ index, id, function: called }: UpstreamToolCall): number {
    if (index != null) return index
    const same = id ? [...known].find(([, call]) => call.id === id)?.[0] : undefined
    if (same !== undefined) return same
    return id || called?.name || last < 0 ? next : last
  }

  return {
    count: () => known.size,
    chunkOf(call: UpstreamToolCall): Chunk {
      const index = indexOf(call)
      last = index
      next = Math.max(next, index + 1)
      const before = known.get(index)
      const given = call.function?.arguments ?? ''
      // Google's leaves it out, and a result must name the call that it is for.
      const id = call.id || (before ? undefined : `call_${randomUUID().replaceAll('-', '')}`)
      known.set(index, { id: before?.id ?? id ?? '', hasArguments: before?.hasArguments || given !== '' })
      return { type: 'tool_call', index, id, name: call.function?.name ?? undefined, arguments: given }
    },
    /** Some send none for a tool without parameters, and nothing is not JSON. */
    withoutArguments: (): Chunk[] =>
      [...known].flatMap(([index, { hasArguments }]) =>
        hasArguments ? [] : [{ type: 'tool_call', index, id: undefined, name: undefined, arguments: '{}' }],
      ),
  }
}

/** OpenRouter says "error" also of what a model did, and then names it as the model's maker does. */
function finishIn(reason: string, native: string | null | undefined): FinishChunk {
  const odd = reason === 'error' && native ? GEMINI_ENDINGS.odd.get(native) : undefined
  return odd && native ? oddFinish(odd, native) : finishOf(reason, OPENAI_ENDINGS)
}

/** Groq's codes for what a model wrote, and could not be used: the caller asked for nothing wrong. */
export const FAILURES_OF_THE_MODEL: ReadonlySet<unknown> = new Set([
  'tool_use_failed',
  'json_validate_failed',
  'output_parse_failed',
])

/** The ending for these codes, and for Azure's for what a model may not say. They come as errors, also midway. */
function reasonOfError(code: unknown): FinishReason | undefined {
  if (FAILURES_OF_THE_MODEL.has(code)) return 'stop'
  return code === 'content_filter' ? 'content_filter' : undefined
}

const upstreamError = z.object({ code: anything, status_code: anything, type: anything })

/** An answer that such an error ends midway was written, and has ended: the part that was already passed on remains. */
function finishOfError(error: unknown, hasBegun: boolean): FinishChunk {
  const { code, status_code, type } = upstreamError.safeParse(error).data ?? {}
  const reason = reasonOfError(code)
  if (reason && hasBegun) return oddFinish(reason, String(code))
  if (FAILURES_OF_THE_MODEL.has(code)) throw new UpstreamError('model_failed')
  if (reason || type === 'invalid_request_error') throw new UpstreamError('rejected')
  throw new UpstreamError(kindOfErrorEvent(typeof code === 'number' ? code : status_code))
}

/** OpenAI counts cached tokens inside the prompt and reasoning inside the completion; our buckets are disjoint. */
function usageFromOpenAI(reported: UpstreamUsage): Usage {
  const { prompt_tokens_details: details, prompt_cache_hit_tokens, cached_tokens } = reported
  const prompt = countOf(reported.prompt_tokens)
  const completion = countOf(reported.completion_tokens)
  const cachedInput = countOf(details?.cached_tokens ?? prompt_cache_hit_tokens ?? cached_tokens ?? 0)
  const cacheWrite = countOf(details?.cache_write_tokens ?? 0)
  const reasoning = countOf(reported.completion_tokens_details?.reasoning_tokens ?? 0)
  const input = prompt - cachedInput - cacheWrite
  // Tokens that only the total includes: what was heard, at Mistral; thoughts at Google, and for some models at xAI.
  const beside = prompt >= 0 && completion >= 0 ? countOf(reported.total_tokens ?? 0) - prompt - completion : 0
  if (beside > 0 && reported.prompt_audio_seconds != null)
    return { input: input + beside, cachedInput, cacheWrite, output: completion - reasoning, reasoning }
  if (beside > 0 && (reasoning === 0 || beside === reasoning))
    return { input, cachedInput, cacheWrite, output: completion, reasoning: beside }
  return { input, cachedInput, cacheWrite, output: completion - reasoning, reasoning }
}
