/** Requests as SDKs send them, for every endpoint, and what is wrong with most of those that are sent here. */
import { KNOWN_FIELDS } from '../../src/rules/calls/chat-request.ts'
import { KNOWN_EMBEDDING_FIELDS } from '../../src/rules/calls/embeddings-request.ts'
import { RESPONSES_FIELDS } from '../../src/rules/calls/responses/responses-request.ts'
import type { Random } from '../support/random.ts'
import { brokenText, mutated, oddValue, written } from './values.ts'
import { CHAT_MODELS, EMBEDDING_MODELS, type World } from './world.ts'

export interface HttpInput {
  method: string
  path: string
  headers: Record<string, string>
  body: Buffer | undefined
  /** Where it says that it comes from. */
  address: string
}

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
const CALL = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Bern"}' } }
const hello = { role: 'user', content: 'Hello there' }
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }

const CHATS: readonly object[] = [
  { messages: [hello] },
  {
    messages: [{ role: 'system', content: 'Be brief' }, hello],
    temperature: 0.5,
    top_p: 0.9,
    max_tokens: 20,
    stop: ['x'],
  },
  { messages: [hello], stream: true, stream_options: { include_usage: true }, max_completion_tokens: 50 },
  { messages: [hello], tools: [WEATHER], tool_choice: 'auto', parallel_tool_calls: false },
  {
    messages: [hello, { role: 'assistant', content: null, tool_calls: [CALL] }].concat([
      { role: 'tool', tool_call_id: 'call_1', content: 'Sunny' } as never,
    ]),
    tools: [WEATHER],
    stream: true,
  },
  {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image_url', image_url: { url: PIXEL } },
        ],
      },
    ],
  },
  {
    messages: [hello],
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA, strict: true } },
  },
  {
    messages: [hello],
    reasoning_effort: 'low',
    verbosity: 'low',
    seed: 7,
    presence_penalty: 0.1,
    logit_bias: { '5': 1 },
  },
  { messages: [hello], metadata: { order: '17' }, user: 'somebody', prompt_cache_key: 'k', service_tier: 'auto', n: 1 },
  { messages: [hello], models: ['fuzz-gemini', 'fuzz-anthropic'], logprobs: true, top_logprobs: 2 },
  {
    messages: [
      { role: 'developer', content: [{ type: 'text', text: 'Rules', cache_control: { type: 'ephemeral' } }] },
      hello,
      { role: 'assistant', content: 'Hi', reasoning_content: 'Hm', reasoning_signature: 'gemini.e30' },
      {
        role: 'user',
        content: [{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:text/plain;base64,aGk=' } }],
      },
    ],
    stream: true,
  },
]
const RESPONSES: readonly object[] = [
  { input: 'Hello' },
  {
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
    instructions: 'Be brief',
    stream: true,
  },
  {
    input: [
      { type: 'message', role: 'user', content: 'Weather?' },
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Bern"}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'Sunny' },
    ],
    tools: [{ type: 'function', ...WEATHER.function, strict: true }],
    store: false,
  },
  { input: 'Hi', text: { format: { type: 'json_schema', name: 'a', schema: SCHEMA } }, reasoning: { effort: 'low' } },
  {
    input: [{ role: 'user', content: [{ type: 'input_image', image_url: PIXEL, detail: 'low' }] }],
    max_output_tokens: 30,
    include: ['reasoning.encrypted_content'],
    metadata: { a: 'b' },
  },
]
const EMBEDDINGS: readonly object[] = [
  { input: 'Hello' },
  { input: ['Hello', 'world'], dimensions: 8 },
  { input: [1, 2, 3], encoding_format: 'base64' },
  { input: [[1, 2], [3]], user: 'somebody', encoding_format: 'float' },
]
const SESSIONS: readonly object[] = [
  {},
  { seconds: 60, calls: 5, money: '250000000', max_tokens: 100, models: ['fuzz-gemini'], end_user: 'customer-17' },
  { origins: ['https://app.example.com'], seconds: 3600 },
]

const CALLS = [
  { path: '/v1/chat/completions', bodies: CHATS, fields: [...KNOWN_FIELDS], models: CHAT_MODELS, weight: 9 },
  { path: '/v1/responses', bodies: RESPONSES, fields: [...RESPONSES_FIELDS], models: CHAT_MODELS, weight: 5 },
  {
    path: '/v1/embeddings',
    bodies: EMBEDDINGS,
    fields: [...KNOWN_EMBEDDING_FIELDS],
    models: EMBEDDING_MODELS,
    weight: 3,
  },
  {
    path: '/v1/sessions',
    bodies: SESSIONS,
    fields: Object.keys({ ...SESSIONS[1], ...SESSIONS[2] }),
    models: undefined,
    weight: 2,
  },
]
const WEIGHTED = CALLS.flatMap((call) => Array.from({ length: call.weight }, () => call))
const ID = '0199d3c47a107c3e9a531f2e3d4c5b6a'
const READS = ['/v1/models', '/v1/credits', `/v1/receipts/chatcmpl-${ID}`, '/v1/models/fuzz-gemini'].concat([
  '/v1/models/a%2Fb',
  `/v1/receipts/embd-${ID}`,
  '/r/token',
  '/w/token',
])
const ODD_PATHS = [
  '/',
  '*',
  '//',
  '/v1',
  '/v1/',
  '/v1//models',
  '/v1/models/',
  '/v1/models/%',
  '/v1/models/%00',
  '/v1/%2e%2e/',
]
  .concat(['/v1/receipts/', '/v1/receipts/%ff', '/v1/receipts/../x', '/v1/models/__proto__', '/v1/models/%F0%9F%92%A9'])
  .concat([`/v1/models/${'a'.repeat(3_000)}`, `/v1/receipts/chatcmpl-${ID}x`, '/v1/chat/completions/', '/V1/MODELS'])
  .concat([
    '/v1/chat%2Fcompletions',
    '/r/%',
    `/r/${'x'.repeat(400)}`,
    '/w/__proto__',
    '/v1/models;a=b',
    '/readyz',
    '/metrics',
  ])
const QUERIES = [
  '',
  '',
  '',
  '?',
  '?a=b',
  '?__proto__=1',
  '?a[b]=c&a=1',
  '?%',
  '?%00=%ff',
  '?stream=true',
  `?${'x=1&'.repeat(500)}`,
]
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND']
const TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=utf-16',
  'APPLICATION/JSON',
]
  .concat([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '',
    'application/json, text/html',
    ';',
  ])
  .concat(['application/jsonx', 'application/vnd.api+json', 'a'.repeat(2_000), 'application/json; charset="'])
const HEADERS: readonly [string, readonly string[]][] = [
  [
    'x-conversation-id',
    ['conv-1', 'conv-2', '', ' ', 'a b', 'x'.repeat(128), 'x'.repeat(129), '__proto__', 'ü', '..', 'a:b'],
  ],
  ['idempotency-key', ['', ' ', 'x'.repeat(255), 'x'.repeat(256), 'é', '__proto__', 'k\tk']],
  ['x-end-user-id', ['somebody', '', 'x'.repeat(513), 'ü', '\u00ff', '__proto__']],
  ['x-end-user-label', ['Some Body', '', 'x'.repeat(5_000), '\u00ad']],
  ['x-error-format', ['openai', 'OpenAI', 'plain', '', 'openai, openai']],
  ['x-monetization', ['off', 'on', '', '__proto__']],
  ['origin', ['https://example.com', 'null', 'http://example.com', 'https://', '%', 'https://example.com:99999']],
  ['authorization', ['Bearer', 'Bearer a:b', 'Bearer :', 'Basic AAAA', `Bearer ${'x'.repeat(4_000)}`]],
  ['expect', ['100-continue', 'x']],
  ['accept', ['text/event-stream', 'text/html', '']],
  ['accept-encoding', ['gzip', 'identity;q=0']],
  ['content-encoding', ['gzip', 'identity', 'x']],
  ['host', ['', 'a b', '[::1', 'example.com:99999']],
  ['x-forwarded-for', ['1.2.3.4', "'", '::ffff:1.2.3.4, x']],
  ['access-control-request-method', ['POST', 'x']],
  ['access-control-request-headers', ['x-secret-key', '\u0001'.repeat(0)]],
  ['cookie', ['a=b', '__proto__=1']],
]

export function inputOf(random: Random, world: Pick<World, 'callers' | 'outsiders'>, n: number): HttpInput {
  const isRead = random.int(8) === 0
  const call = random.pick(WEIGHTED)
  const odd = random.int(25) === 0
  const path = (odd ? random.pick(ODD_PATHS) : isRead ? random.pick(READS) : call.path) + random.pick(QUERIES)
  const body = isRead && random.int(4) > 0 ? undefined : bodyOf(random, call)
  return {
    method: random.int(30) === 0 ? random.pick(METHODS) : isRead ? 'GET' : 'POST',
    path,
    headers: headersOf(random, world, body, n),
    body: body === undefined ? undefined : Buffer.from(body),
    address: `10.${random.int(256)}.${random.int(256)}.${random.int(256)}`,
  }
}

function bodyOf(random: Random, { bodies, fields, models }: (typeof CALLS)[number]): string {
  const valid = { ...(models && { model: random.pick(models) }), ...random.pick(bodies) }
  switch (random.int(12)) {
    case 0:
      return JSON.stringify(valid)
    case 1:
    case 2:
      return brokenText(JSON.stringify(valid), random)
    case 3:
      return written(oddValue(random))
    case 4:
      return random.int(100) === 0
        ? JSON.stringify({ ...valid, user: 'x'.repeat(400_000) })
        : written(mutated(valid, random))
    case 5:
    case 6:
    case 7:
      // Any field that is read, also where none of the examples has it.
      return written({ ...valid, [random.pick(fields)]: oddValue(random) })
    default:
      return written(mutated(valid, random))
  }
}

function headersOf(random: Random, world: Pick<World, 'callers' | 'outsiders'>, body: string | undefined, n: number) {
  const isOutsider = random.int(15) === 0
  const { headers: keys } = random.pick(isOutsider ? world.outsiders : world.callers)
  const headers: Record<string, string> = { host: 'gateway.example.com', ...keys }
  if (body !== undefined) headers['content-type'] = random.int(15) === 0 ? random.pick(TYPES) : 'application/json'
  if (random.int(4) === 0) headers['x-error-format'] = 'openai'
  if (random.int(12) === 0) headers['idempotency-key'] = `key-${random.int(2) === 0 ? n : random.int(50)}`
  if (random.int(4) === 0) {
    for (let more = random.int(3); more >= 0; more--) {
      const [name, values] = random.pick(HEADERS)
      headers[name] = random.pick(values)
    }
  }
  if (random.int(30) === 0) breakKeys(headers, random)
  return headers
}

function breakKeys(headers: Record<string, string>, random: Random): void {
  const name = random.pick(['x-publishable-key', 'x-secret-key'])
  const key = headers[name] ?? ''
  const at = random.int(key.length)
  const wrong = [
    undefined,
    '',
    key.slice(0, at),
    `${key}x`,
    key.toUpperCase(),
    `${key.slice(0, at)}-${key.slice(at + 1)}`,
  ].concat(['x'.repeat(3_000), '__proto__', '\u00ff', key.replace('ply_sk', 'ply_es')])
  const chosen = random.pick(wrong)
  if (chosen === undefined) Reflect.deleteProperty(headers, name)
  else headers[name] = chosen
}
