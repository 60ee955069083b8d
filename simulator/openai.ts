/** The chat-completions wire format. */
import { CACHED_TOKENS_MIN } from './caches.ts'
import type { Answer, ChatRequest, Dialect, ReportedUsage, StreamEvent } from './dialect.ts'
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'
import { textOf } from './reply.ts'
import type { Piece, Tool } from './reply.ts'

export const openai: Dialect = {
  format: 'openai',
  idPrefix: 'chatcmpl-sim-',
  serves: (method, path) => method === 'POST' && path === '/v1/chat/completions',
  credentialIn: ({ authorization }) => (/^Bearer ./i.test(authorization ?? '') ? authorization : undefined),
  read,
  caching: ({ prompt_cache_key: key, tools }, { messages }) => {
    const routedBy = JSON.stringify([key, tools])
    return { kind: 'automatic', tokensMin: CACHED_TOKENS_MIN, messages, routedBy }
  },
  errorBody,
  json,
  events,
}

export const MODELS = {
  object: 'list',
  data: ['sim', 'sim-mini'].map((id) => ({ id, object: 'model', created: 1_750_000_000, owned_by: 'simulator' })),
}

const FINGERPRINT = 'fp_simulator'
const FINISH_REASONS = { stop: 'stop', length: 'length', tool: 'tool_calls' } as const

function read(body: unknown): ChatRequest {
  if (!isRecord(body)) throw new Refusal(400, 'the body must be a JSON object')
  if (typeof body.model !== 'string' || body.model === '') throw new Refusal(400, 'you must provide a model parameter')
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    throw new Refusal(400, "'messages' must be an array with at least one message")
  }
  const stream = body.stream === true
  if (!stream && body.stream_options != null) {
    throw new Refusal(400, "the 'stream_options' parameter is only allowed when 'stream' is enabled")
  }
  checkFields(body)
  return {
    model: body.model,
    stream,
    wantsUsage: isRecord(body.stream_options) && body.stream_options.include_usage === true,
    tokensMax: tokensMaxOf(body.max_completion_tokens ?? body.max_tokens),
    messages: body.messages.map(messageOf),
    tools: Array.isArray(body.tools) ? body.tools.flatMap(toolsOf) : [],
    alsoRead: [
      ...body.messages.flatMap(alsoInMessage),
      ...[body.tools, body.response_format].filter((value) => value != null).map((value) => JSON.stringify(value)),
    ],
    wantsThoughts: body.reasoning_effort != null && body.reasoning_effort !== 'none',
    topLogprobs: body.logprobs === true ? Number(body.top_logprobs ?? 0) : undefined,
    mediaTokens: body.messages.reduce((tokens: number, message) => tokens + mediaTokensOf(message), 0),
  }
}

const EFFORTS = new Set<unknown>(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
const CHOICES = new Set<unknown>(['none', 'auto', 'required'])

/** Refuses fields that exclude each other, fields that need another one, and invalid values. */
function checkFields(body: Record<string, unknown>): void {
  const { max_tokens, max_completion_tokens, tools, tool_choice: choice, parallel_tool_calls } = body
  require(max_tokens == null || max_completion_tokens == null, 'set only one of max_tokens and max_completion_tokens')
  const hasTools = Array.isArray(tools) && tools.length > 0
  require(tools == null || hasTools, "[] is too short - 'tools'")
  require(hasTools || choice == null, "'tool_choice' is only allowed when 'tools' are specified")
  require(hasTools || parallel_tool_calls == null, "'parallel_tool_calls' is only allowed when 'tools' are specified")
  require(choice == null || isRecord(choice) || CHOICES.has(choice), "invalid value for 'tool_choice'")
  require(body.top_logprobs == null || body.logprobs === true, "'top_logprobs' needs 'logprobs' to be true")
  require(EFFORTS.has(body.reasoning_effort ?? 'none'), "invalid value for 'reasoning_effort'")
  const isSchema = isRecord(body.response_format) && body.response_format.type === 'json_schema'
  const { json_schema: schema }: Record<string, unknown> = isRecord(body.response_format) ? body.response_format : {}
  require(!isSchema || isRecord(schema), "missing required parameter: 'response_format.json_schema'")
}

function require(isTrue: boolean, message: string): void {
  if (!isTrue) throw new Refusal(400, message)
}

/** Returns what a message says besides its text. */
function alsoInMessage(message: unknown): string[] {
  if (!isRecord(message)) return []
  const { refusal, tool_calls: calls, tool_call_id: id } = message
  return [
    ...[refusal, id].filter((text) => typeof text === 'string'),
    ...(Array.isArray(calls) ? [JSON.stringify(calls)] : []),
  ]
}

/** A small image, a large one, and one of which nobody says how large it is to be looked at. An address that ends with
 * `?tokens=25000` names the tokens itself. */
const IMAGE_TOKENS = { low: 85, high: 1_105, auto: 765 }
const FILE_TOKENS = 1_500
const BYTES_PER_FILE_TOKEN = 1_000

function mediaTokensOf(message: unknown): number {
  const parts: unknown[] = isRecord(message) && Array.isArray(message.content) ? message.content : []
  return parts.reduce((tokens: number, part) => {
    if (!isRecord(part)) return tokens
    if (isRecord(part.image_url)) return tokens + imageTokensOf(part.image_url)
    if (!isRecord(part.file)) return tokens
    return tokens + FILE_TOKENS + Math.floor(String(part.file.file_data).length / BYTES_PER_FILE_TOKEN)
  }, 0)
}

function imageTokensOf({ detail, url }: Record<string, unknown>): number {
  const named = /^https?:.*\?tokens=(\d{1,6})$/.exec(String(url))?.[1]
  if (named !== undefined) return Number(named)
  return detail === 'low' || detail === 'high' ? IMAGE_TOKENS[detail] : IMAGE_TOKENS.auto
}

function tokensMaxOf(value: unknown): number | undefined {
  if (value == null) return undefined
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    throw new Refusal(400, 'the maximum of tokens must be a positive integer')
  }
  return value
}

function messageOf(message: unknown): { role: string; text: string } {
  if (!isRecord(message) || typeof message.role !== 'string') throw new Refusal(400, 'each message must have a role')
  return { role: message.role, text: contentText(message.content) }
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => (isRecord(part) && typeof part.text === 'string' ? part.text : '')).join('')
}

function toolsOf(tool: unknown): Tool[] {
  if (!isRecord(tool) || !isRecord(tool.function) || typeof tool.function.name !== 'string') return []
  return [{ name: tool.function.name, parameters: tool.function.parameters }]
}

function errorBody(status: number, message: string): unknown {
  const [type, code] =
    ERROR_KINDS.get(status) ?? (status < 500 ? ['invalid_request_error', null] : ['server_error', null])
  // A message of one word is an error code.
  return { error: { message, type, param: null, code: code ?? (/^\w+$/.test(message) ? message : null) } }
}

const ERROR_KINDS = new Map<number, [type: string, code: string | null]>([
  [401, ['invalid_request_error', 'invalid_api_key']],
  [402, ['insufficient_quota', 'insufficient_quota']],
  [403, ['permission_error', 'permission_denied']],
  [404, ['invalid_request_error', 'model_not_found']],
  [429, ['rate_limit_error', 'rate_limit_exceeded']],
])

function json(answer: Answer): unknown {
  const { reply } = answer
  const said = reply.tool
    ? { content: null, refusal: null, tool_calls: callsOf(answer) }
    : { content: textOf(reply.pieces), refusal: null }
  const thought = reply.thoughts.length > 0 && { reasoning_content: textOf(reply.thoughts) }
  const message = { role: 'assistant', ...said, ...thought }
  return {
    id: answer.id,
    object: 'chat.completion',
    created: answer.createdS,
    model: answer.model,
    system_fingerprint: FINGERPRINT,
    choices: [
      {
        index: 0,
        message,
        logprobs: logprobsOf(answer, reply.pieces),
        finish_reason: answer.finish ?? FINISH_REASONS[reply.finish],
      },
    ],
    ...(answer.usage && { usage: usageBody(answer.usage) }),
  }
}

function* events(answer: Answer): Generator<StreamEvent> {
  const { reply } = answer
  // The fields that all chunks share are serialized once: doing it for each was a fifth of the simulator's work in a benchmark.
  const shared = {
    id: answer.id,
    object: 'chat.completion.chunk',
    created: answer.createdS,
    model: answer.model,
    system_fingerprint: FINGERPRINT,
  }
  const head = JSON.stringify(shared).slice(0, -1)
  const tail = answer.usage ? ',"usage":null}' : '}'
  function event(
    kind: StreamEvent['kind'],
    delta: unknown,
    tokens = 0,
    finish: string | null = null,
    logprobs: unknown = null,
  ): StreamEvent {
    const choice = `{"index":0,"delta":${JSON.stringify(delta)},"logprobs":${JSON.stringify(logprobs)},"finish_reason":${JSON.stringify(finish)}}`
    return { kind, data: `${head},"choices":[${choice}]${tail}`, tokens }
  }

  yield event('open', { role: 'assistant', content: reply.tool ? null : '' })
  for (const { text, tokens } of reply.thoughts)
    yield { ...event('content', { reasoning_content: text }), thoughtTokens: tokens }
  if (!reply.tool)
    for (const piece of reply.pieces)
      yield event('content', { content: piece.text }, piece.tokens, null, logprobsOf(answer, [piece]))
  for (let index = 0; index < reply.calls; index++) {
    yield event('content', { tool_calls: [{ index, ...toolCall(answer, '', index) }] }, reply.tool?.nameTokens)
    for (const { text, tokens } of reply.pieces)
      yield event('content', { tool_calls: [{ index, function: { arguments: text } }] }, tokens)
  }
  yield event('close', {}, 0, answer.finish ?? FINISH_REASONS[reply.finish])
  if (answer.usage) {
    yield {
      kind: 'close',
      data: JSON.stringify({ ...shared, choices: [], usage: usageBody(answer.usage) }),
      tokens: 0,
    }
  }
  yield { kind: 'done', data: '[DONE]', tokens: 0 }
}

function entryOf(token: string, rank = 0) {
  return { token, logprob: -0.1 - rank, bytes: [...Buffer.from(token)] }
}

/** The later an alternative, the less likely it was. */
function logprobsOf({ topLogprobs }: Answer, pieces: readonly Piece[]): unknown {
  if (topLogprobs === undefined) return null
  const content = pieces.map(({ text }) => ({
    ...entryOf(text),
    top_logprobs: Array.from({ length: topLogprobs }, (_, rank) => entryOf(rank === 0 ? text : `~${rank}`, rank)),
  }))
  return { content, refusal: null }
}

function callsOf(answer: Answer): Record<string, unknown>[] {
  return Array.from({ length: answer.reply.calls }, (_, n) => toolCall(answer, textOf(answer.reply.pieces), n))
}

function toolCall(answer: Answer, fragment: string, index: number): Record<string, unknown> {
  const name = answer.reply.tool?.name
  const id = `call_${answer.id}${index === 0 ? '' : `_${index}`}`
  return { id, type: 'function', function: { name, arguments: fragment } }
}

/** OpenAI itself names no tokens that were written to the cache; routers do. */
function usageBody(usage: ReportedUsage): unknown {
  return {
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    total_tokens: usage.total,
    prompt_tokens_details: {
      cached_tokens: usage.cached,
      ...(usage.cacheWrite !== 0 && { cache_write_tokens: usage.cacheWrite }),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  }
}
