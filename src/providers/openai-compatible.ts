import { z } from 'zod'
import { fieldsOf, ROUTE_FIELDS, type ChatRequest, type OptionalField } from '../rules/calls/chat-request.ts'
import { fieldsIn } from '../rules/record.ts'
import { createReader, FAILURES_OF_THE_MODEL } from './openai-events.ts'
import type { Provider, UpstreamErrorKind } from './provider.ts'
import { parseObject, readEvents } from './read-events.ts'
import type { Transport } from './transport.ts'

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
  /** Whether it routes calls of the same conversation by a key to where their prompt is cached. */
  promptCacheKey: z.boolean().default(false),
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
    stream({ request, upstreamModel, apiKey, timers, onSent, cache }, signal) {
      const headers = { ...settings.headers, ...credentialOf(settings, apiKey) }
      const body = JSON.stringify({
        ...requestBodyOf(request, upstreamModel, settings),
        prompt_cache_key: settings.promptCacheKey ? cache?.key : undefined,
      })
      return readEvents(options.transport, { ...to, headers, body, timers, onSent }, createReader(), signal)
    },
  }
}

function credentialOf({ auth }: OpenAICompatibleSettings, apiKey: string | undefined): Record<string, string> {
  if (apiKey === undefined) return {}
  return { [auth.header]: auth.scheme === undefined ? apiKey : `${auth.scheme} ${apiKey}` }
}

function refusalsOf({ keyRejectedBy }: OpenAICompatibleSettings) {
  const ofTheKey = new Set(keyRejectedBy)
  const kindOfRefusal = (status: number, body: string): UpstreamErrorKind | undefined => {
    if (ofTheKey.has(status)) return 'key_rejected'
    if (KEY_STATUSES.includes(status)) return 'rejected'
    return status === 400 && FAILURES_OF_THE_MODEL.has(codeIn(body)) ? 'model_failed' : undefined
  }
  return { kindOfRefusal }
}

function codeIn(body: string): unknown {
  return fieldsIn(parseObject(body)?.error).code
}

type BodySettings = Pick<OpenAICompatibleSettings, 'maxTokensField' | 'askForUsage'>

/** Always streamed, also for callers who want one JSON body: timers, metering and cancelling then work the same. */
export function requestBodyOf(
  request: ChatRequest,
  upstreamModel: string,
  { maxTokensField, askForUsage }: BodySettings = { maxTokensField: 'max_tokens', askForUsage: true },
): Record<string, unknown> {
  // The caller's own key of a cache stays with us: see ConversationCache.
  const { model: _, stream: __, includeUsage: ___, prompt_cache_key: ____, max_tokens, ...fields } = request
  return {
    ...fields,
    [maxTokensField]: max_tokens,
    model: upstreamModel,
    stream: true,
    ...(askForUsage && { stream_options: { include_usage: true } }),
  }
}
