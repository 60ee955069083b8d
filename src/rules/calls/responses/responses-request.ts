import { z } from 'zod'
import { ParleyError } from '../../errors.ts'
import { isRecord } from '../../record.ts'
import { KNOWN_FIELDS as CHAT_FIELDS, parseChatRequest, type ChatRequest } from '../chat-request.ts'
import { text } from '../message.ts'
import { END_USER_CHARACTERS_MAX } from '../end-users.ts'
import { metadataOf } from '../metadata.ts'
import { requestErrorOf } from '../request-errors.ts'
import { refusalOf, turnInput, type TurnedInput } from './responses-input.ts'
import { echoOfChoice, echoOfTools, toolChoiceOf, toolsOf } from './responses-tools.ts'
import { wordsOf } from '../route-fields.ts'

/**
 * The body of `POST /v1/responses`, turned into the chat that it means: the same checks, the same limits, the same path behind
 * it. Refusals speak of the fields that were sent, and whatever needs something stored is one of them.
 */
export interface ResponsesRequest {
  chat: ChatRequest
  /** The fields of the request that its answer repeats. */
  echo: object
  /** Thoughts are shown only to who asks for them, as SDKs expect. */
  showsReasoning: boolean
  /** So is what proves them: for those who send them back. */
  showsSignature: boolean
}

const INCLUDED = ['reasoning.encrypted_content', 'message.output_text.logprobs'] as const

const unsupported = (instead: string) => z.undefined(`is not supported: ${instead}`).optional()

/** Checked as a field of the chat that it becomes. */
const passedOn = z.unknown().optional()
/** Read elsewhere, and never a reason to refuse a call. */
const consumed = z.unknown().optional()

const format = z
  .object({
    type: z.enum(['text', 'json_object', 'json_schema']),
    name: text.nullish(),
    description: text.nullish(),
    schema: z.record(z.string(), z.unknown()).nullish(),
    strict: z.boolean().nullish(),
  })
  .refine(({ type, name }) => type !== 'json_schema' || name != null, { path: ['name'], message: 'is required' })
  .refine(({ type, schema }) => type !== 'json_schema' || schema != null, { path: ['schema'], message: 'is required' })

const body = z.object({
  model: z.string().min(1, 'must not be empty'),
  input: z
    .union([z.string(), z.array(z.unknown())], {
      error: ({ input }) => (input === undefined ? 'is required' : 'must be a string or an array of items'),
    })
    .refine((input) => typeof input === 'string' || input.length > 0, 'must not be empty'),
  models: passedOn,
  instructions: text.optional(),
  stream: passedOn,
  temperature: passedOn,
  top_p: passedOn,
  max_output_tokens: passedOn,
  tools: z.array(z.unknown()).optional(),
  tool_choice: z.unknown().optional(),
  parallel_tool_calls: passedOn,
  text: z.object({ format: format.nullish(), verbosity: z.unknown().optional() }).optional(),
  reasoning: z
    .object({
      effort: z.unknown().optional(),
      summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
      generate_summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
    })
    .optional(),
  include: z
    .array(
      z.enum(INCLUDED, `must be ${INCLUDED.join(' or ')}: the other values belong to tools that are not available`),
    )
    .optional(),
  top_logprobs: passedOn,
  stream_options: z.object({ include_obfuscation: z.boolean().nullish() }).optional(),
  prompt_cache_key: passedOn,
  service_tier: passedOn,
  store: z
    .literal(false, 'must be false: answers are not stored. Send the whole conversation in input with each request')
    .optional(),
  truncation: z.literal('disabled', 'must be disabled: Parley never cuts a prompt. Shorten the input').optional(),
  background: z.literal(false, 'must be false: every call is answered directly. Stream long answers').optional(),
  previous_response_id: unsupported('answers are not stored. Send the whole conversation in input'),
  conversation: unsupported('send the whole conversation in input, and name it with the header x-conversation-id'),
  prompt: unsupported('Parley has no prompt templates. Send instructions and input'),
  max_tool_calls: unsupported('it limits provider-run tools, which are not available'),
  context_management: unsupported('Parley never cuts a prompt. Shorten the input'),
  moderation: unsupported('run your own moderation before the call'),
  user: consumed,
  safety_identifier: consumed,
  metadata: consumed,
})
type Body = z.output<typeof body>
export { body as responsesBody }

export const RESPONSES_FIELDS: ReadonlySet<string> = new Set(Object.keys(body.shape))

/** By the name in chat: the field to send here, and the words for it where those are more than its name. */
const OWN_NAMES: Record<string, { param: string; words?: string }> = {
  messages: { param: 'input' },
  max_tokens: { param: 'max_output_tokens' },
  max_completion_tokens: { param: 'max_output_tokens' },
  response_format: { param: 'text.format' },
  json_schema: { param: 'text.format', words: 'text.format json_schema' },
  reasoning_effort: { param: 'reasoning.effort' },
  verbosity: { param: 'text.verbosity' },
  logprobs: { param: 'include', words: 'message.output_text.logprobs' },
  functions: { param: 'tools' },
  function_call: { param: 'tool_choice' },
  images: { param: 'input', words: 'input_image' },
  image_urls: { param: 'input', words: 'input_image with an address (send the image as a data: URL)' },
  files: { param: 'input', words: 'input_file' },
  input_audio: { param: 'input', words: 'input_audio' },
  prefill: { param: 'input', words: 'input that ends with a message of the assistant' },
}

export function parseResponsesRequest(value: unknown): ResponsesRequest {
  if (!isRecord(value)) throw new ParleyError('invalid_request', { message: 'The body must be a JSON object.' })
  const given = Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null))
  refuseChatFields(given)
  const result = body.safeParse(given, { reportInput: true })
  if (!result.success) throw requestErrorOf(result.error)
  const fields = result.data
  const input = turnInput(fields.input, fields.instructions)
  if (input.messages.length === 0) throw refusalOf('input', 'must have at least one message or function call')
  const keepsThoughts = fields.store === false || includes(fields, 'reasoning.encrypted_content')
  const chat = parsedAsChat(fields, input)
  return {
    chat,
    echo: echoOf(fields, chat),
    showsReasoning: keepsThoughts || summaryIn(fields) !== null,
    showsSignature: keepsThoughts,
  }
}

/** A field that only chat has asks for another answer than the one it would get. */
function refuseChatFields(given: Record<string, unknown>): void {
  for (const name of Object.keys(given)) {
    if (RESPONSES_FIELDS.has(name) || !CHAT_FIELDS.has(name)) continue
    const { param } = OWN_NAMES[name] ?? {}
    const instead = param === undefined ? 'use /v1/chat/completions, which has it' : `send ${param} instead`
    throw refusalOf(name, `is not a field of this endpoint: ${instead}`)
  }
}

function parsedAsChat(fields: Body, input: TurnedInput): ChatRequest {
  const { allowed, choice } = toolChoiceOf(fields.tool_choice)
  const tools = toolsOf(fields.tools ?? [], allowed)
  const hasLogprobs = includes(fields, 'message.output_text.logprobs')
  if (fields.top_logprobs && !hasLogprobs)
    throw refusalOf('top_logprobs', 'needs include: ["message.output_text.logprobs"]')
  const chat = {
    model: fields.model,
    models: fields.models,
    messages: input.messages,
    stream: fields.stream,
    temperature: fields.temperature,
    top_p: fields.top_p,
    max_tokens: fields.max_output_tokens,
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: choice,
    parallel_tool_calls: fields.parallel_tool_calls,
    response_format: formatOf(fields.text?.format),
    verbosity: fields.text?.verbosity ?? undefined,
    reasoning_effort: fields.reasoning?.effort ?? undefined,
    logprobs: hasLogprobs || undefined,
    top_logprobs: hasLogprobs ? fields.top_logprobs : undefined,
    prompt_cache_key: fields.prompt_cache_key,
    service_tier: fields.service_tier,
  }
  try {
    return parseChatRequest(Object.fromEntries(Object.entries(chat).filter(([, field]) => field !== undefined)))
  } catch (error) {
    throw inResponsesWords(error, input.pathOf)
  }
}

/** Rewords a refusal by the chat path so that it names the fields that were sent. */
export function inResponsesWords(error: unknown, pathOf = (path: string) => path): unknown {
  if (!(error instanceof ParleyError) || error.options.param === undefined) return error
  const { param } = error.options
  const [name = ''] = /^\w+/.exec(param) ?? []
  const own = param.startsWith('messages[')
    ? { param: pathOf(param) }
    : { ...OWN_NAMES[name], param: ownPathOf(param, name) }
  const message = error.message.replace(wordsOf(param), own.words ?? own.param)
  return new ParleyError(error.code, { ...error.options, message, param: own.param })
}

function ownPathOf(param: string, name: string): string {
  return (OWN_NAMES[name]?.param ?? name) + param.slice(name.length).replace(/\.function\b/, '')
}

function includes({ include = [] }: Body, name: (typeof INCLUDED)[number]): boolean {
  return include.includes(name)
}

function summaryIn({ reasoning }: Body): string | null {
  return reasoning?.summary ?? reasoning?.generate_summary ?? null
}

function formatOf(asked: z.output<typeof format> | null | undefined): object | undefined {
  if (asked?.type !== 'json_schema') return asked ? { type: asked.type } : undefined
  const { type, name, description, schema, strict } = asked
  const named = { name, schema, ...(description == null ? {} : { description }), ...(strict == null ? {} : { strict }) }
  return { type, json_schema: named }
}

/**
 * The fields of a response that say how it was asked for: SDKs read some, and their types promise the rest. Only what is short, or
 * was checked and is paid for as a part of the prompt: a stream has it three times.
 */
function echoOf(fields: Body, chat: ChatRequest): object {
  const { reasoning, text: asked } = fields
  return {
    access_programs: null,
    background: false,
    instructions: fields.instructions ?? null,
    max_output_tokens: fields.max_output_tokens ?? null,
    max_tool_calls: null,
    metadata: Object.fromEntries(metadataOf(fields).map(({ key, value }) => [key, value])),
    parallel_tool_calls: fields.parallel_tool_calls ?? true,
    previous_response_id: null,
    prompt_cache_key: chat.prompt_cache_key ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: summaryIn(fields) },
    service_tier: 'default',
    store: false,
    temperature: fields.temperature ?? null,
    text: {
      format: asked?.format ?? { type: 'text' },
      ...(asked?.verbosity == null ? {} : { verbosity: asked.verbosity }),
    },
    tool_choice: echoOfChoice(fields.tool_choice),
    tools: echoOfTools(chat.tools ?? []),
    top_logprobs: fields.top_logprobs ?? 0,
    top_p: fields.top_p ?? null,
    truncation: 'disabled',
    ...(isShort(fields.safety_identifier) ? { safety_identifier: fields.safety_identifier } : {}),
    ...(isShort(fields.user) ? { user: fields.user } : {}),
  }
}

function isShort(value: unknown): value is string {
  return typeof value === 'string' && value.length <= END_USER_CHARACTERS_MAX
}
