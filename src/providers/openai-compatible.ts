import type { ChatRequest } from '../rules/chat-request.ts'
import type { Chunk, FinishReason } from '../rules/chunk.ts'
import type { Usage } from '../rules/usage.ts'
import { z } from 'zod'
import { UpstreamError, type Provider } from './provider.ts'
import type { Transport } from './transport.ts'

/** More than any model calls at once; an index beyond it is a provider's mistake. */
const TOOL_CALLS_MAX = 128

export interface OpenAICompatibleOptions {
  name: string
  /** Up to and including the version: `https://api.example.com/v1`. */
  baseUrl: string
  apiKey: string | undefined
  transport: Transport
}

export function createOpenAICompatible(options: OpenAICompatibleOptions): Provider {
  const url = `${options.baseUrl.replace(/\/+$/, '')}/chat/completions`
  const headers: Record<string, string> =
    options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }
  return {
    name: options.name,
    async *stream({ request, upstreamModel, timers }, signal) {
      const body = JSON.stringify(requestBodyOf(request, upstreamModel))
      const reader = createReader()
      const events = options.transport.events({ url, headers, body, timers, isLast: isEndMarker }, signal)
      for await (const data of events) yield* reader.read(data)
      reader.end()
    },
  }
}

function isEndMarker(data: string): boolean {
  return data === '[DONE]'
}

/** Always streamed, also for callers who want one JSON body: timers, metering and cancelling then work the same. */
export function requestBodyOf(request: ChatRequest, upstreamModel: string): Record<string, unknown> {
  const { model: _, stream: __, includeUsage: ___, ...fields } = request
  return { ...fields, model: upstreamModel, stream: true, stream_options: { include_usage: true } }
}

/** Turns the data of events, in order, into chunks. The finish is given out last, when the end marker has come. */
export function createReader(): { read(data: string): Chunk[]; end(): void } {
  let finish: FinishReason | undefined
  let usage: Usage | undefined
  let isDone = false
  return {
    read(data) {
      if (isDone) return []
      if (isEndMarker(data)) {
        if (finish === undefined) throw new UpstreamError('truncated')
        isDone = true
        const end: Chunk[] = [{ type: 'finish', reason: finish }]
        return usage === undefined ? end : [...end, { type: 'usage', usage }]
      }
      const event = parseEvent(data)
      if (event.usage != null) usage = usageOf(event.usage)
      const choice = event.choices?.find((candidate) => (candidate.index ?? 0) === 0)
      if (!choice) return []
      if (choice.finish_reason != null) finish = finishReasonOf(choice.finish_reason)
      return chunksOf(choice.delta ?? {})
    },
    end() {
      if (!isDone) throw new UpstreamError('truncated')
    },
  }
}

const text = z.string().nullish()

/** What we read of an event. A provider's mistake must end as its error, not as a crash of ours or nonsense to the caller. */
const upstreamEvent = z.object({
  error: z.unknown().optional(),
  choices: z
    .array(
      z.object({
        index: z.number().nullish(),
        delta: z
          .object({
            content: text,
            refusal: text,
            reasoning_content: text,
            reasoning: text,
            tool_calls: z
              .array(
                z.object({
                  index: z
                    .int()
                    .min(0)
                    .max(TOOL_CALLS_MAX - 1)
                    .nullish(),
                  id: text,
                  function: z.object({ name: text, arguments: text }).nullish(),
                }),
              )
              .nullish(),
          })
          .nullish(),
        finish_reason: text,
      }),
    )
    .nullish(),
  // Counts are judged later: a wrong one is no reason to lose the answer.
  usage: z
    .object({
      prompt_tokens: z.unknown().optional(),
      completion_tokens: z.unknown().optional(),
      prompt_tokens_details: z.object({ cached_tokens: z.unknown().optional() }).nullish().catch(undefined),
      completion_tokens_details: z.object({ reasoning_tokens: z.unknown().optional() }).nullish().catch(undefined),
    })
    .nullish()
    .catch(undefined),
})
type UpstreamEvent = z.output<typeof upstreamEvent>
type Delta = NonNullable<NonNullable<NonNullable<UpstreamEvent['choices']>[number]['delta']>>
type UpstreamUsage = NonNullable<UpstreamEvent['usage']>

function parseEvent(data: string): UpstreamEvent {
  let event: unknown
  try {
    event = JSON.parse(data)
  } catch {
    throw new UpstreamError('bad_event')
  }
  const result = upstreamEvent.safeParse(event)
  if (!result.success) throw new UpstreamError('bad_event')
  if (result.data.error != null) throw new UpstreamError('error_in_200')
  return result.data
}

/** Empty pieces are dropped: the role alone is not yet an answer, and until there is one another route may be tried. */
function chunksOf(delta: Delta): Chunk[] {
  const chunks: Chunk[] = []
  const reasoning = delta.reasoning_content ?? delta.reasoning
  if (reasoning) chunks.push({ type: 'reasoning', text: reasoning })
  if (delta.content) chunks.push({ type: 'text', text: delta.content })
  if (delta.refusal) chunks.push({ type: 'refusal', text: delta.refusal })
  for (const call of delta.tool_calls ?? []) {
    chunks.push({
      type: 'tool_call',
      index: call.index ?? 0,
      id: call.id ?? undefined,
      name: call.function?.name ?? undefined,
      arguments: call.function?.arguments ?? '',
    })
  }
  return chunks
}

function finishReasonOf(reason: string): FinishReason {
  switch (reason) {
    case 'stop':
    case 'length':
    case 'content_filter':
    case 'tool_calls':
      return reason
    case 'function_call':
      return 'tool_calls'
    case 'error':
      throw new UpstreamError('error_in_200')
    default:
      return 'stop'
  }
}

/** OpenAI counts cached tokens inside the prompt and reasoning inside the completion; our buckets are disjoint. */
function usageOf(reported: UpstreamUsage): Usage {
  const cachedInput = countOf(reported.prompt_tokens_details?.cached_tokens ?? 0)
  const reasoning = countOf(reported.completion_tokens_details?.reasoning_tokens ?? 0)
  return {
    input: countOf(reported.prompt_tokens) - cachedInput,
    cachedInput,
    cacheWrite: 0,
    output: countOf(reported.completion_tokens) - reasoning,
    reasoning,
  }
}

/** What is not a number becomes NaN, which no plausibility check lets through. */
function countOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN
}
