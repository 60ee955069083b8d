/** The Messages wire format: every event has a name, and the last is called `message_stop`. */
import type { IncomingHttpHeaders } from 'node:http'
import { readRequest } from './anthropic-request.ts'
import { messagesPlan } from './cache-marks.ts'
import type { Answer, Dialect, ReportedUsage, StreamEvent } from './dialect.ts'
import { Refusal } from './refusal.ts'
import { textOf } from './reply.ts'
import { signatureOf } from './thinking.ts'

export const anthropic: Dialect = {
  format: 'anthropic',
  idPrefix: 'msg_sim-',
  eventNames: { content: 'content_block_delta', error: 'error' },
  serves: (method, path) => method === 'POST' && path === '/v1/messages',
  credentialIn,
  checkHeaders(headers) {
    if (!VERSIONS.has(headers['anthropic-version'])) throw new Refusal(400, 'anthropic-version: header is required')
  },
  read: readRequest,
  caching: (body, { model }) => messagesPlan(body, model),
  errorBody,
  json,
  events,
}

/** They differ in fields that are refused, which are all served here, and not in what is answered. */
const VERSIONS = new Set<unknown>(['2023-06-01', '2026-10-21'])

const STOP_REASONS = { stop: 'end_turn', length: 'max_tokens', tool: 'tool_use' } as const

/** The official SDK has gone over to a bearer token; both are taken. */
function credentialIn({ 'x-api-key': key, authorization }: IncomingHttpHeaders): string | undefined {
  const credential = key ?? /^Bearer (.+)/i.exec(authorization ?? '')?.[1]
  return credential === undefined || credential === '' ? undefined : String(credential)
}

const ERROR_TYPES = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
])

function errorBody(status: number, message: string): unknown {
  const type = ERROR_TYPES.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  return { type: 'error', error: { type, message }, request_id: 'req_simulator' }
}

function json(answer: Answer): unknown {
  const { reply, usage } = answer
  const thinking = { type: 'thinking', thinking: textOf(reply.thoughts), signature: signatureOf(answer.id) }
  const text = { type: 'text', text: textOf(reply.pieces) }
  return {
    ...messageOf(answer),
    content: [
      ...(reply.thoughts.length > 0 ? [thinking] : []),
      ...(reply.tool ? [{ ...toolUse(answer), input: inputOf(text.text) }] : text.text === '' ? [] : [text]),
    ],
    stop_reason: answer.finish ?? STOP_REASONS[reply.finish],
    ...(usage && { usage: { ...promptUsage(usage), ...completionUsage(usage) } }),
  }
}

function messageOf(answer: Answer): Record<string, unknown> {
  return {
    id: answer.id,
    type: 'message',
    role: 'assistant',
    model: answer.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
  }
}

function* events(answer: Answer): Generator<StreamEvent> {
  const { reply, usage } = answer
  // The first count of the answer is taken when one token of it exists.
  const atStart = usage && { usage: { ...promptUsage(usage), output_tokens: 1 } }
  yield event('open', { type: 'message_start', message: { ...messageOf(answer), ...atStart } })
  let index = 0
  if (reply.thoughts.length > 0) {
    yield blockStart(index, { type: 'thinking', thinking: '', signature: '' })
    yield event('open', { type: 'ping' })
    for (const { text, tokens } of reply.thoughts)
      yield { ...delta(index, { type: 'thinking_delta', thinking: text }), thoughtTokens: tokens }
    yield event('open', blockDelta(index, { type: 'signature_delta', signature: signatureOf(answer.id) }))
    yield event('open', { type: 'content_block_stop', index })
    index++
  }
  const blocks = Math.max(reply.calls, 1)
  for (let n = 0; n < blocks; n++, index++) {
    yield blockStart(index, reply.tool ? toolUse(answer, n) : { type: 'text', text: '' })
    if (n === 0) yield event('open', { type: 'ping' })
    // The name was already given, so that an empty fragment carries its tokens.
    if (reply.tool) yield delta(index, { type: 'input_json_delta', partial_json: '' }, reply.tool.nameTokens)
    for (const { text, tokens } of reply.pieces) {
      yield delta(
        index,
        reply.tool ? { type: 'input_json_delta', partial_json: text } : { type: 'text_delta', text },
        tokens,
      )
    }
    yield event(n === blocks - 1 ? 'close' : 'open', { type: 'content_block_stop', index })
  }
  const stop = { stop_reason: answer.finish ?? STOP_REASONS[reply.finish], stop_sequence: null }
  const atEnd = usage && { usage: { ...promptUsage(usage), ...completionUsage(usage) } }
  yield event('close', { type: 'message_delta', delta: stop, ...atEnd })
  yield event('done', { type: 'message_stop' })
}

interface EventData {
  readonly type: string
  readonly [field: string]: unknown
}

function event(kind: StreamEvent['kind'], data: EventData, tokens = 0): StreamEvent {
  return { kind, name: data.type, data: JSON.stringify(data), tokens }
}

function blockStart(index: number, block: unknown): StreamEvent {
  return event('open', { type: 'content_block_start', index, content_block: block })
}

function blockDelta(index: number, value: unknown): EventData {
  return { type: 'content_block_delta', index, delta: value }
}

function delta(index: number, value: unknown, tokens = 0): StreamEvent {
  return event('content', blockDelta(index, value), tokens)
}

function toolUse(answer: Answer, n = 0): Record<string, unknown> {
  return {
    type: 'tool_use',
    id: `toolu_${answer.id}${n === 0 ? '' : `_${n}`}`,
    name: answer.reply.tool?.name,
    input: {},
  }
}

/** Arguments that the maximum has cut are no JSON any more. */
function inputOf(written: string): unknown {
  try {
    return JSON.parse(written)
  } catch {
    return {}
  }
}

function promptUsage(usage: ReportedUsage): Record<string, unknown> {
  return {
    input_tokens: usage.fresh,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cached,
  }
}

function completionUsage(usage: ReportedUsage): Record<string, unknown> {
  return { output_tokens: usage.completion, output_tokens_details: { thinking_tokens: usage.reasoning } }
}
