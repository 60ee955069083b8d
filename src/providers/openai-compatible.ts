import { fieldsOf, ROUTE_FIELDS, type ChatRequest, type OptionalField } from '../rules/calls/chat-request.ts'
import type { Chunk, FinishChunk, FinishReason } from '../rules/calls/chunk.ts'
import type { Usage } from '../rules/billing/usage.ts'
import { z } from 'zod'
import { finishOf, GEMINI_ENDINGS, kindOfErrorEvent, oddFinish, OPENAI_ENDINGS } from './endings.ts'
import { UpstreamError, type Provider, type UpstreamErrorKind } from './provider.ts'
import { jsonIn, readEvents, type EventReader } from './read-events.ts'
import type { Transport } from './transport.ts'
import { countOf, createUsageSoFar } from './reported-usage.ts'

/** Far more than any model calls at once: an index beyond it is a provider's mistake. */
const TOOL_CALL_INDEX_MAX = 100_000

const KEY_STATUSES = [401, 402, 403]
const headerName = z.string().regex(/^[a-z0-9-]{1,100}$/, 'must be the name of a header, in lower case')
const headerValue = z.string().regex(/^[\x20-\x7e]{1,1000}$/, 'must be one line of printable ASCII')
const optionalField = z.enum(ROUTE_FIELDS)

/** What providers of this format do differently. A new provider is a few of these, and no code. */
const openAICompatibleSettings = z.strictObject({
  /** The header that carries the key, and the word before it. */
  auth: z
    .strictObject({ header: headerName, scheme: headerValue.optional() })
    .default({ header: 'authorization', scheme: 'Bearer' }),
  path: z.string().startsWith('/').default('/chat/completions'),
  /** Added to each address, such as an api-version. */
  query: z.record(z.string(), z.string()).default({}),
  /** Sent with each request. */
  headers: z.record(headerName, headerValue).default({}),
  maxTokensField: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
  /** False: it refuses stream_options, and reports usage unasked or not at all. */
  askForUsage: z.boolean().default(true),
  /** Request fields that none of its models can honour. */
  unsupportedFields: z.array(optionalField).default([]),
  /** Whether its models read files; most know only images. */
  readsFiles: z.boolean().default(false),
  /** The statuses that mean the key. Of the three usual ones, those not listed mean the request. */
  keyRejectedBy: z.array(z.int().min(400).max(499)).default(KEY_STATUSES),
})
export type OpenAICompatibleSettings = z.output<typeof openAICompatibleSettings>

export interface OpenAICompatibleOptions {
  name: string
  /** Up to and including the version: `https://api.example.com/v1`. */
  baseUrl: string
  /** See `openAICompatibleSettings`; throws when they are none. */
  settings?: unknown
  transport: Transport
}

export function createOpenAICompatible(options: OpenAICompatibleOptions): Provider {
  const settings = openAICompatibleSettings.parse(options.settings ?? {})
  const url = new URL(`${options.baseUrl.replace(/\/+$/, '')}${settings.path}`)
  for (const [name, value] of Object.entries(settings.query)) url.searchParams.set(name, value)
  const unsupported = new Set<OptionalField>(settings.unsupportedFields)
  if (!settings.readsFiles) unsupported.add('files')
  const to = { url: url.href, ...refusalsOf(settings) }
  return {
    name: options.name,
    cannotHonour: (request) =>
      unsupported.size === 0 ? undefined : fieldsOf(request).find((field) => unsupported.has(field)),
    stream({ request, upstreamModel, apiKey, timers, onSent }, signal) {
      const headers = { ...settings.headers, ...credentialOf(settings, apiKey) }
      const body = JSON.stringify(requestBodyOf(request, upstreamModel, settings))
      return readEvents(options.transport, { ...to, headers, body, timers, onSent }, createReader(), signal)
    },
  }
}

function credentialOf({ auth }: OpenAICompatibleSettings, apiKey: string | undefined): Record<string, string> {
  if (apiKey === undefined) return {}
  return { [auth.header]: auth.scheme === undefined ? apiKey : `${auth.scheme} ${apiKey}` }
}

/** Nothing where the provider means what all mean: whoever asks has the body of the refusal read first. */
function refusalsOf({ keyRejectedBy }: OpenAICompatibleSettings) {
  const ofTheKey = new Set(keyRejectedBy)
  if (ofTheKey.size === KEY_STATUSES.length && KEY_STATUSES.every((status) => ofTheKey.has(status))) return {}
  const kindOfRefusal = (status: number): UpstreamErrorKind | undefined => {
    if (ofTheKey.has(status)) return 'key_rejected'
    return KEY_STATUSES.includes(status) ? 'rejected' : undefined
  }
  return { kindOfRefusal }
}

function isEndMarker(data: string): boolean {
  return data === '[DONE]'
}

type BodySettings = Pick<OpenAICompatibleSettings, 'maxTokensField' | 'askForUsage'>

/** Always streamed, also for callers who want one JSON body: timers, metering and cancelling then work the same. */
export function requestBodyOf(
  request: ChatRequest,
  upstreamModel: string,
  { maxTokensField, askForUsage }: BodySettings = { maxTokensField: 'max_tokens', askForUsage: true },
): Record<string, unknown> {
  const { model: _, stream: __, includeUsage: ___, max_tokens, ...fields } = request
  return {
    ...fields,
    [maxTokensField]: max_tokens,
    model: upstreamModel,
    stream: true,
    ...(askForUsage && { stream_options: { include_usage: true } }),
  }
}

/** The finish is given out last, when the end marker has come. */
export function createReader(): EventReader {
  let finish: FinishChunk | undefined
  let usage: Usage | undefined
  let hasBegun = false
  let isDone = false
  const soFar = createUsageSoFar()

  function endChunks(): Chunk[] {
    if (finish === undefined) throw new UpstreamError('truncated')
    isDone = true
    return usage === undefined ? [finish] : [finish, { type: 'usage', usage }]
  }

  return {
    read(data) {
      if (isDone) return []
      if (isEndMarker(data)) return endChunks()
      const event = parseEvent(data)
      if (event.error != null) {
        finish = finishOfError(event.error, hasBegun)
        return endChunks()
      }
      const reported = event.usage ?? event.x_groq?.usage
      if (reported != null) usage = usageFromOpenAI(reported)
      const choice = event.choices?.find((candidate) => (candidate.index ?? 0) === 0)
      if (!choice) return []
      if (choice.finish_reason != null) finish = finishIn(choice.finish_reason, choice.native_finish_reason)
      const chunks = chunksOf(choice.delta ?? {})
      hasBegun ||= chunks.length > 0
      return soFar.after(chunks, usage)
    },
    end() {
      if (!isDone) throw new UpstreamError('truncated')
      return []
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
  })
  .nullish()
  .catch(undefined)

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
                  index: z.int().min(0).max(TOOL_CALL_INDEX_MAX).nullish(),
                  id: text,
                  function: z.object({ name: text, arguments: text }).nullish(),
                }),
              )
              .nullish(),
          })
          .nullish(),
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

function parseEvent(data: string): UpstreamEvent {
  const result = upstreamEvent.safeParse(jsonIn(data))
  if (!result.success) throw new UpstreamError('bad_event')
  return result.data
}

/** Empty deltas are dropped: the role alone is not yet an answer, and until there is one another deployment may be tried. */
function chunksOf(delta: Delta): Chunk[] {
  const chunks: Chunk[] = []
  const reasoning = delta.reasoning_content ?? delta.reasoning
  if (reasoning) chunks.push({ type: 'reasoning', text: reasoning })
  if (delta.content) chunks.push({ type: 'text', text: delta.content })
  if (delta.refusal) chunks.push({ type: 'refusal', text: delta.refusal })
  for (const call of delta.tool_calls ?? []) {
    if (!call.id && !call.function?.name && !call.function?.arguments) continue
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

/** OpenRouter says "error" also of what a model did, and then names it as the model's maker does. */
function finishIn(reason: string, native: string | null | undefined): FinishChunk {
  const odd = reason === 'error' && native ? GEMINI_ENDINGS.odd.get(native) : undefined
  return odd && native ? oddFinish(odd, native) : finishOf(reason, OPENAI_ENDINGS)
}

/** Groq's codes for what a model did, and Azure's for what it may not say. They come as errors, also midway. */
const ERRORS_OF_THE_MODEL = new Map<unknown, FinishReason>([
  ['tool_use_failed', 'stop'],
  ['json_validate_failed', 'stop'],
  ['output_parse_failed', 'stop'],
  ['content_filter', 'content_filter'],
])

const upstreamError = z.object({ code: anything, status_code: anything, type: anything })

/** What was already said stays said: the answer was written, and has ended. */
function finishOfError(error: unknown, hasBegun: boolean): FinishChunk {
  const { code, status_code, type } = upstreamError.safeParse(error).data ?? {}
  const reason = ERRORS_OF_THE_MODEL.get(code)
  if (reason && hasBegun) return oddFinish(reason, String(code))
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
  // xAI counts reasoning beside the completion, for some models. The total tells.
  const isBeside = reasoning > 0 && reported.total_tokens === prompt + completion + reasoning
  return {
    input: prompt - cachedInput - cacheWrite,
    cachedInput,
    cacheWrite,
    output: isBeside ? completion : completion - reasoning,
    reasoning,
  }
}
