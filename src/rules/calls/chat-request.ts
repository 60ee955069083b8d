import { z } from 'zod'
import { ParleyError } from '../errors.ts'
import { MAX_TOKENS_MAX, MESSAGES_MAX } from '../limits.ts'

/**
 * What a caller may send, and nothing else: unknown fields are ignored and never passed on, known ones are checked
 * without coercion (a "0.5" is not a 0.5), and each refusal names its field.
 */

/** NUL cannot be stored and a lone surrogate cannot be sent on as UTF-8: both are refused instead of silently replaced. */
const text = z
  .string()
  .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be well-formed text without NUL characters')

const DATA_URL = /^data:[\w.+-]+\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]*)*;base64,/i

const textPart = z.object({ type: z.literal('text'), text })
const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: text, detail: z.enum(['auto', 'low', 'high']).optional() }),
})
/** A document that comes with the request. What lies at a provider under a `file_id` is not the caller's. */
const filePart = z.object({
  type: z.literal('file'),
  file: z.object({
    file_data: text.refine((data) => DATA_URL.test(data.slice(0, 256)), 'must be a data: URL in base64'),
    filename: text.max(255).optional(),
  }),
})
const contentPart = z.discriminatedUnion('type', [textPart, imagePart, filePart], {
  error: (issue) => (issue.code === 'invalid_union' ? 'must be text, image_url or file' : undefined),
})
const parts = z.array(contentPart).min(1).max(1_000)
const textParts = z.array(textPart).min(1).max(1_000)

/** Not a union, because a union cannot say which part of an array was wrong. */
function stringOr<T extends z.ZodType>(schema: T) {
  return z.any().transform((value: unknown, context): string | z.output<T> => {
    const result = (Array.isArray(value) ? schema : text).safeParse(value, { reportInput: true })
    if (result.success) return result.data
    for (const issue of result.error.issues) {
      const isWrongKind = issue.code === 'invalid_type' && issue.path.length === 0 && issue.input !== undefined
      context.addIssue({
        code: 'custom',
        message: isWrongKind ? 'must be a string or an array of parts' : sentenceOf(issue),
        path: issue.path,
      })
    }
    return z.NEVER
  })
}

const toolCall = z.object({
  id: text,
  type: z.literal('function'),
  function: z.object({ name: text, arguments: text }),
})

const chatMessage = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.literal('system'), content: stringOr(textParts) }),
    z.object({ role: z.literal('user'), content: stringOr(parts) }),
    z
      .object({
        role: z.literal('assistant'),
        content: stringOr(textParts).nullish(),
        refusal: text.nullish(),
        tool_calls: z.array(toolCall).min(1).max(128).optional(),
      })
      .refine((m) => m.content != null || m.refusal != null || m.tool_calls !== undefined, {
        path: ['content'],
        message: 'must be a string',
      }),
    z.object({ role: z.literal('tool'), content: stringOr(textParts), tool_call_id: text }),
  ],
  { error: (issue) => (issue.code === 'invalid_union' ? 'must be one of system, user, assistant, tool' : undefined) },
)

const tool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 characters of A-Z a-z 0-9 _ -'),
    description: text.optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
    strict: z.boolean().optional(),
  }),
})

const penalty = z.number().min(-2).max(2)
const tokenCount = z.int().positive().max(MAX_TOKENS_MAX)

const body = z.object({
  model: z.string().min(1, 'must not be empty'),
  messages: z.array(chatMessage).min(1, 'must not be empty').max(MESSAGES_MAX),
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
  user: text.max(512).optional(),
  response_format: z
    .object({
      type: z.enum(['text', 'json_object', 'json_schema']),
      json_schema: z.record(z.string(), z.unknown()).optional(),
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
  stream_options: z.object({ include_usage: z.boolean().optional() }).optional(),
})

export const KNOWN_FIELDS: ReadonlySet<string> = new Set(Object.keys(body.shape))

type Body = z.output<typeof body>
export type Message = Body['messages'][number]

/** The request after checks: `max_completion_tokens` has become `max_tokens`, and `n` is gone because it is always 1. */
export type ChatRequest = Omit<Body, 'max_completion_tokens' | 'n' | 'stream' | 'stream_options'> & {
  stream: boolean
  includeUsage: boolean
}

/** Fields that not every model can honour. */
export const OPTIONAL_FIELDS = [
  'temperature',
  'top_p',
  'stop',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'user',
  'response_format',
  'tools',
  'tool_choice',
] as const satisfies readonly (keyof ChatRequest)[]

/** The same, and what may stand inside of messages. */
export const ROUTE_FIELDS = [...OPTIONAL_FIELDS, 'images', 'files'] as const
export type OptionalField = (typeof ROUTE_FIELDS)[number]

export function parseChatRequest(value: unknown): ChatRequest {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ParleyError('invalid_request', { message: 'The body must be a JSON object.' })
  }
  const result = body.safeParse(value, { reportInput: true })
  if (!result.success) throw requestErrorOf(result.error)
  const { max_completion_tokens, n: _, stream, stream_options, ...rest } = result.data
  if (
    rest.max_tokens !== undefined &&
    max_completion_tokens !== undefined &&
    rest.max_tokens !== max_completion_tokens
  ) {
    throw new ParleyError('invalid_value', {
      message: 'max_completion_tokens and max_tokens mean the same: send one, or the same value in both.',
      param: 'max_completion_tokens',
    })
  }
  return {
    ...rest,
    max_tokens: rest.max_tokens ?? max_completion_tokens,
    stream: stream ?? false,
    includeUsage: stream_options?.include_usage ?? false,
  }
}

/** The optional fields that a request makes use of, for choosing deployments that honour them all. */
export function fieldsOf(request: ChatRequest): OptionalField[] {
  const used: OptionalField[] = OPTIONAL_FIELDS.filter((field) => request[field] !== undefined)
  const types = new Set(contentPartsOf(request).map(({ type }) => type))
  if (types.has('image_url')) used.push('images')
  if (types.has('file')) used.push('files')
  return used
}

type UserContent = Exclude<Extract<Message, { role: 'user' }>['content'], string>
export type ContentPart = UserContent[number]
export type FilePart = Extract<ContentPart, { type: 'file' }>

/** All parts of all messages; a content that is a text has none. */
export function contentPartsOf({ messages }: ChatRequest): ContentPart[] {
  return messages.flatMap(({ content }): ContentPart[] => (Array.isArray(content) ? content : []))
}

/** The images of a request, where they are or as they are. */
export function imageUrlsOf(request: ChatRequest): string[] {
  return contentPartsOf(request).flatMap((part) => (part.type === 'image_url' ? [part.image_url.url] : []))
}

/** An empty stop sequence stops nothing. */
export function stopsOf({ stop = [] }: ChatRequest): string[] {
  return (typeof stop === 'string' ? [stop] : stop).filter((sequence) => sequence !== '')
}

export function filesOf(request: ChatRequest): FilePart[] {
  return contentPartsOf(request).filter((part) => part.type === 'file')
}

/** A file or image that comes with the request: its type in lower case, and its bytes in base64. */
export interface InlineData {
  mediaType: string
  base64: string
}

export function inlineDataOf(url: string): InlineData | undefined {
  const [prefix] = DATA_URL.exec(url.slice(0, 256)) ?? []
  if (prefix === undefined) return undefined
  const mediaType = prefix.slice('data:'.length, prefix.indexOf(';')).toLowerCase()
  return { mediaType, base64: url.slice(prefix.length) }
}

/** The text of a file that is nothing else. */
export function plainTextOf({ file }: FilePart): string | undefined {
  const inline = inlineDataOf(file.file_data)
  return inline?.mediaType === 'text/plain' ? Buffer.from(inline.base64, 'base64').toString() : undefined
}

/** Without a model or messages there is no request at all (400); any other wrong value is a request that asks for something impossible (422). */
function requestErrorOf(error: z.ZodError): ParleyError {
  const issue = error.issues[0]
  const path = pathOf(issue?.path ?? [])
  const message = `${path} ${sentenceOf(issue)}`
  const isMissing = (path === 'model' || path === 'messages') && issue?.code !== 'too_big'
  return new ParleyError(isMissing ? 'invalid_request' : 'invalid_value', { message: `${message}.`, param: path })
}

function pathOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((whole, step) => {
    if (typeof step === 'number') return `${whole}[${step}]`
    return whole === '' ? String(step) : `${whole}.${String(step)}`
  }, '')
}

const KINDS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
}

const UNITS: Record<string, string> = { array: ' items long', string: ' characters long' }

function sentenceOf(issue: z.core.$ZodIssue | undefined): string {
  if (!issue) return 'is not valid'
  if (issue.message.startsWith('must ') || issue.message.startsWith('is ')) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required'
      return `must be ${KINDS[issue.expected] ?? `of type ${issue.expected}`}`
    case 'too_small':
      if (issue.origin === 'array') return 'must not be empty'
      return `must be ${issue.inclusive ? 'at least' : 'greater than'} ${issue.minimum}`
    case 'too_big':
      return `must be at most ${issue.maximum}${UNITS[issue.origin] ?? ''}`
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`
    default:
      return 'is not valid'
  }
}
