import { z } from 'zod'
import { ParleyError } from '../errors.ts'
import { MAX_TOKENS_MAX } from '../limits.ts'
import {
  chatMessages,
  isBlank,
  isInstruction,
  partsOf,
  text,
  textContent,
  withoutOldReasoning,
  type ContentPart,
  type FilePart,
} from './message.ts'
import { requestErrorOf } from './request-errors.ts'

/**
 * The fields that a caller may send, and nothing else: unknown fields are ignored and never passed on, known ones are checked
 * without coercion (a "0.5" is not a 0.5), and each refusal names its field.
 */

const tool = z.object({
  type: z.literal('function', 'must be "function": provider-run tools are not available'),
  function: z.object({
    name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 characters of A-Z a-z 0-9 _ -'),
    description: text.optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
    strict: z
      .boolean()
      .nullish()
      .transform((isStrict) => isStrict ?? undefined)
      .optional(),
  }),
})

const penalty = z.number().min(-2).max(2)
const tokenCount = z.int().positive().max(MAX_TOKENS_MAX)

export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number]

const PROMPT_CACHE_KEY_CHARACTERS_MAX = 512

/**
 * Fields that are checked and then dropped. Values that ask for nothing are accepted, because SDKs send them; values that ask
 * for another kind of answer are refused.
 */
const CHECKED_ONLY = {
  service_tier: z.enum(['auto', 'default'], 'must be auto or default: other tiers are not available').optional(),
  modalities: z.array(z.literal('text', 'must be text: Parley answers with text only')).optional(),
  store: z
    .literal(false, 'must be false: no provider keeps completions. Send x-conversation-id to keep a conversation')
    .optional(),
  audio: z.undefined('is not supported: Parley answers with text only. Leave it out').optional(),
  web_search_options: z.undefined('is not supported: offer a search of your own in tools').optional(),
  functions: z.undefined('is not supported: send tools instead').optional(),
  function_call: z.undefined('is not supported: send tool_choice instead').optional(),
}
type CheckedOnly = keyof typeof CHECKED_ONLY
const CHECKED_ONLY_NAMES = Object.keys(CHECKED_ONLY) as CheckedOnly[]

const modelId = z.string().min(1, 'must not be empty')
export const FALLBACK_MODELS_MAX = 8

const body = z.object({
  model: modelId,
  messages: chatMessages,
  stream: z.boolean().optional(),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: tokenCount.optional(),
  top_p: z.number().min(0).max(1).optional(),
  max_completion_tokens: tokenCount.optional(),
  n: z.literal(1, 'must be 1: Parley answers with one choice').optional(),
  stop: z.union([text, z.array(text).min(1).max(4)], 'must be a string or an array of 1 to 4 strings').optional(),
  seed: z.int().optional(),
  presence_penalty: penalty.optional(),
  frequency_penalty: penalty.optional(),
  logit_bias: z.record(z.string(), z.number().min(-100).max(100)).optional(),
  response_format: z
    .object({
      type: z.enum(['text', 'json_object', 'json_schema']),
      json_schema: z.record(z.string(), z.unknown()).optional(),
    })
    .refine(({ type, json_schema }) => type !== 'json_schema' || json_schema !== undefined, {
      path: ['json_schema'],
      message: 'must be an object with a name and a schema',
    })
    .optional(),
  tools: z.array(tool).min(1).max(128).optional(),
  tool_choice: z
    .union(
      [
        z.enum(['none', 'auto', 'required']),
        z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) }),
      ],
      'must be none, auto, required or {"type":"function","function":{"name":…}}',
    )
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  reasoning_effort: z.enum(REASONING_EFFORTS).optional(),
  verbosity: z.enum(['low', 'medium', 'high']).optional(),
  logprobs: z.boolean().optional(),
  top_logprobs: z.int().min(0).max(20).optional(),
  prediction: z.object({ type: z.literal('content'), content: textContent }).optional(),
  prompt_cache_key: text.max(PROMPT_CACHE_KEY_CHARACTERS_MAX).optional(),
  models: z.array(modelId).max(FALLBACK_MODELS_MAX).optional(),
  stream_options: z.object({ include_usage: z.boolean().optional() }).optional(),
  ...CHECKED_ONLY,
})

/** Read elsewhere, and never a reason to refuse a call. */
export const CONSUMED_FIELDS = ['user', 'safety_identifier', 'metadata'] as const
export { body as chatBody }
export const KNOWN_FIELDS: ReadonlySet<string> = new Set<string>([...Object.keys(body.shape), ...CONSUMED_FIELDS])

/** The specification's own: null is a wrong value for them. Elsewhere SDKs write it for "not given". */
const NEVER_NULL = new Set(['model', 'messages', 'stream', 'temperature', 'max_tokens', 'top_p'])

type Body = z.output<typeof body>

/** The request after checks: `max_completion_tokens` has become `max_tokens`, and what can have one value only is gone. */
export type ChatRequest = Omit<Body, CheckedOnly | 'max_completion_tokens' | 'n' | 'stream_options' | 'stream'> & {
  stream: boolean
  includeUsage: boolean
}

export function parseChatRequest(value: unknown): ChatRequest {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ParleyError('invalid_request', { message: 'The body must be a JSON object.' })
  }
  const result = body.safeParse(withoutNulls(value), { reportInput: true })
  if (!result.success) throw requestErrorOf(result.error)
  const { max_completion_tokens, n: _, stream, stream_options, messages, ...fields } = withoutCheckedOnly(result.data)
  const { max_tokens = max_completion_tokens } = fields
  if (max_completion_tokens !== undefined && max_tokens !== max_completion_tokens) {
    const message = 'max_completion_tokens and max_tokens mean the same: send one, or the same value in both.'
    throw new ParleyError('invalid_value', { message, param: 'max_completion_tokens' })
  }
  if (fields.top_logprobs !== undefined && fields.logprobs !== true) {
    const message = 'top_logprobs needs logprobs: true.'
    throw new ParleyError('invalid_value', { message, param: 'top_logprobs' })
  }
  const { tools, tool_choice: choice } = fields
  if (typeof choice === 'object' && tools?.every((offered) => offered.function.name !== choice.function.name)) {
    const message = 'tool_choice names a function that is not in tools.'
    throw new ParleyError('invalid_value', { message, param: 'tool_choice' })
  }
  return {
    ...fields,
    messages: withoutOldReasoning(messages),
    max_tokens,
    stream: stream ?? false,
    includeUsage: stream_options?.include_usage ?? false,
  }
}

function withoutCheckedOnly(checked: Body): Omit<Body, CheckedOnly> {
  for (const name of CHECKED_ONLY_NAMES) if (name in checked) delete checked[name]
  return checked
}

function withoutNulls(value: object): object {
  const entries = Object.entries(value)
  return entries.every(isGiven) ? value : Object.fromEntries(entries.filter(isGiven))
}

function isGiven([name, field]: [string, unknown]): boolean {
  return field !== null || NEVER_NULL.has(name)
}

/** All parts of all messages; a content that is a text has none. */
export function contentPartsOf({ messages }: ChatRequest): ContentPart[] {
  return messages.flatMap(partsOf)
}

/** The images of a request, where they are or as they are. */
export function imageUrlsOf(request: ChatRequest): string[] {
  return contentPartsOf(request).flatMap((part) => (part.type === 'image_url' ? [part.image_url.url] : []))
}

export function filesOf(request: ChatRequest): FilePart[] {
  return contentPartsOf(request).filter((part) => part.type === 'file')
}

/** An empty stop sequence stops nothing. */
export function stopsOf({ stop = [] }: ChatRequest): string[] {
  return (typeof stop === 'string' ? [stop] : stop).filter((sequence) => sequence !== '')
}

/**
 * The answer is to go on from what the assistant has said already. Instructions and blanks may stand after it: in most formats
 * the former are said elsewhere and the latter not at all.
 */
export function isPrefilled({ messages }: ChatRequest): boolean {
  return messages.findLast((message) => !isInstruction(message) && !isBlank(message))?.role === 'assistant'
}

export function isJsonAsked({ response_format: format }: ChatRequest): boolean {
  return format !== undefined && format.type !== 'text'
}

export function mustCallTool({ tool_choice: choice }: ChatRequest): boolean {
  return typeof choice === 'object' || choice === 'required'
}
