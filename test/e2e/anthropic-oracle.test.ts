/** Two readers of the Messages format that others wrote must see in a stream what our adapter sees, and its faults must end as its errors. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createAnthropic as createAiAnthropic } from '@ai-sdk/anthropic'
import Anthropic from '@anthropic-ai/sdk'
import { jsonSchema, streamText, tool } from 'ai'
import { createSimulator, type Simulator } from '../../simulator/server.ts'
import { createAnthropic } from '../../src/providers/anthropic/anthropic.ts'
import { UpstreamError, type Provider, type UpstreamErrorKind } from '../../src/providers/provider.ts'
import { collect, POSSIBLE } from '../../src/providers/support.test.ts'
import { createTransport } from '../../src/providers/transport.ts'
import { parseChatRequest } from '../../src/rules/calls/chat-request.ts'
import type { Chunk, FinishReason } from '../../src/rules/calls/chunk.ts'
import { UPSTREAM_TIMERS } from '../../src/rules/limits.ts'
import { judgeReport } from '../../src/rules/billing/reported-usage.ts'
import { NO_USAGE, type Usage } from '../../src/rules/billing/usage.ts'

const transport = createTransport()
let simulator: Simulator
let provider: Provider
before(async () => {
  simulator = await createSimulator()
  provider = createAnthropic({ name: 'sim', baseUrl: `${simulator.url}/v1`, settings: {}, transport })
})
after(async () => {
  await transport.close()
  await simulator.close()
})
beforeEach(() => simulator.reset())

interface Heard {
  text: string
  reasoning: string
  calls: { id: string; name: string; input: unknown }[]
  finish: FinishReason
  usage: Usage
}

const SCHEMA = {
  type: 'object' as const,
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
}
const MAX_TOKENS = 500

async function chunksOf(upstreamModel: string, more: Record<string, unknown> = {}): Promise<Chunk[]> {
  const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...more })
  const call = { request, upstreamModel, apiKey: 'k', timers: UPSTREAM_TIMERS }
  return collect(provider.stream(call, new AbortController().signal))
}

async function heardByUs(model: string): Promise<Heard> {
  const tools = [
    { type: 'function', function: { name: 'look', parameters: SCHEMA } },
    { type: 'function', function: { name: 'rest' } },
  ]
  const chunks = await chunksOf(model, { tools, max_tokens: MAX_TOKENS })
  const calls: { id: string; name: string; written: string }[] = []
  for (const chunk of chunks) {
    if (chunk.type !== 'tool_call') continue
    const call = (calls[chunk.index] ??= { id: '', name: '', written: '' })
    call.id += chunk.id ?? ''
    call.name += chunk.name ?? ''
    call.written += chunk.arguments
  }
  const [finish, usage] = chunks.slice(-2)
  assert.ok(finish?.type === 'finish' && usage?.type === 'usage')
  return {
    text: chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join(''),
    reasoning: chunks.map((chunk) => (chunk.type === 'reasoning' ? chunk.text : '')).join(''),
    calls: calls.map(({ id, name, written }) => ({ id, name, input: JSON.parse(written) })),
    finish: finish.reason,
    usage: usage.usage,
  }
}

const OFFICIAL_FINISHES: Record<string, FinishReason> = {
  end_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
}

async function heardByOfficial(model: string): Promise<Heard> {
  const client = new Anthropic({ apiKey: 'k', baseURL: simulator.url, maxRetries: 0 })
  const tools = [
    { name: 'look', input_schema: SCHEMA },
    { name: 'rest', input_schema: { type: 'object' as const, properties: {} } },
  ]
  const messages = [{ role: 'user' as const, content: 'Hi' }]
  const message = await client.messages.stream({ model, messages, tools, max_tokens: MAX_TOKENS }).finalMessage()
  const reasoning = message.usage.output_tokens_details?.thinking_tokens ?? 0
  return {
    text: message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    reasoning: message.content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
    calls: message.content.flatMap((block) =>
      block.type === 'tool_use' ? [{ id: block.id, name: block.name, input: block.input }] : [],
    ),
    finish: OFFICIAL_FINISHES[message.stop_reason ?? ''] ?? assert.fail(`stop reason ${message.stop_reason}`),
    usage: {
      input: message.usage.input_tokens,
      cachedInput: message.usage.cache_read_input_tokens ?? 0,
      cacheWrite: message.usage.cache_creation_input_tokens ?? 0,
      output: message.usage.output_tokens - reasoning,
      reasoning,
    },
  }
}

const AI_FINISHES: Record<string, FinishReason> = { stop: 'stop', length: 'length', 'tool-calls': 'tool_calls' }

async function heardByAiSdk(model: string): Promise<Heard> {
  const anthropic = createAiAnthropic({ apiKey: 'k', baseURL: `${simulator.url}/v1` })
  const tools = {
    look: tool({ inputSchema: jsonSchema(SCHEMA) }),
    rest: tool({ inputSchema: jsonSchema({ type: 'object', properties: {} }) }),
  }
  const result = streamText({
    model: anthropic(model),
    messages: [{ role: 'user', content: 'Hi' }],
    tools,
    maxOutputTokens: MAX_TOKENS,
    maxRetries: 0,
  })
  const [text, reasoning, calls, finish, usage] = await Promise.all([
    result.text,
    result.reasoningText,
    result.toolCalls,
    result.finishReason,
    result.usage,
  ])
  return {
    text,
    reasoning: reasoning ?? '',
    calls: calls.map((call) => ({ id: call.toolCallId, name: call.toolName, input: call.input })),
    finish: AI_FINISHES[finish] ?? assert.fail(`finish reason ${finish}`),
    usage: {
      input: usage.inputTokenDetails.noCacheTokens ?? Number.NaN,
      cachedInput: usage.inputTokenDetails.cacheReadTokens ?? Number.NaN,
      cacheWrite: usage.inputTokenDetails.cacheWriteTokens ?? Number.NaN,
      output: usage.outputTokenDetails.textTokens ?? Number.NaN,
      reasoning: usage.outputTokenDetails.reasoningTokens ?? Number.NaN,
    },
  }
}

for (const [what, model, expected] of [
  ['text', 'sim?tokens=40', { finish: 'stop' }],
  ['text of many scripts in single bytes', 'sim?utf8=1&tokens=60&split=1', { finish: 'stop' }],
  ['a text that the maximum cuts', 'sim?tokens=600', { finish: 'length' }],
  ['a tool call', 'sim?tool=look', { finish: 'tool_calls' }],
  ['a tool call without arguments', 'sim?tool=rest', { finish: 'tool_calls' }],
  ['thoughts', 'sim?thoughts=Let%20me%20see%E2%80%A6&text=Yes', { text: 'Yes', reasoning: 'Let me see…' }],
  ['thoughts before a tool call', 'sim?thoughts=Hm&tool=look', { reasoning: 'Hm', finish: 'tool_calls' }],
  ['cached tokens', 'sim?tokens=5&cached=3&written=2', { finish: 'stop' }],
] as const satisfies [string, string, Partial<Heard>][]) {
  test(`the official SDK and the AI SDK hear ${what} as we do`, async () => {
    const ours = await heardByUs(model)
    // The upstream's own id counts its calls, and goes into those of the tools.
    simulator.reset()
    const normal = ({ calls, ...rest }: Heard) => ({
      ...rest,
      calls: calls.map(({ id, name, input }) => ({ id: id.replace(/\d+$/, ''), name, input })),
    })
    assert.deepEqual(normal(await heardByOfficial(model)), normal(ours))
    assert.deepEqual(normal(await heardByAiSdk(model)), normal(ours))
    assert.deepEqual({ ...ours, ...expected }, ours)
    assert.ok(ours.text !== '' || ours.calls.length > 0)
  })
}

test('cached tokens are in buckets of their own', async () => {
  const { usage } = await heardByUs('sim?tokens=5&cached=3&written=2')
  const uncached = (await heardByUs('sim?tokens=5')).usage
  assert.deepEqual(usage, { ...uncached, input: uncached.input - 5, cachedInput: 3, cacheWrite: 2 })
})

async function outcomeOf(fault: string): Promise<UpstreamErrorKind | 'answered'> {
  try {
    await chunksOf(`sim?tokens=12&fault=${fault}`)
    return 'answered'
  } catch (error) {
    if (error instanceof UpstreamError) return error.kind
    throw error
  }
}

test('each fault of this dialect ends as the error that it is, and the legal oddities are answers', async () => {
  const expected: Record<string, UpstreamErrorKind | 'answered'> = {
    'U7-bom': 'answered',
    'U7-cr': 'answered',
    'U7-nospace': 'answered',
    'U7-comments': 'answered',
    'U7-multiline': 'answered',
    'U7-unknown-fields': 'answered',
    'U7-badjson': 'bad_event',
    U8: 'answered',
    'U9-bigevent': 'event_too_big',
    U10: 'rate_limited',
    'U11-500': 'server_error',
    'U11-529': 'server_error',
    'U12-json': 'error_in_200',
    'U12-sse': 'error_in_200',
    'U12-midstream': 'error_in_200',
    U13: 'answered',
    'U14-eof': 'truncated',
    'U14-close': 'truncated',
    'U14-short': 'truncated',
    'U14-rst': 'truncated',
    'U14-nodone': 'truncated',
    'U16-gzip': 'encoding',
    U18: 'redirect',
    'U19-nan': 'bad_event',
  }
  const seen: Record<string, string> = {}
  for (const fault of Object.keys(expected)) seen[fault] = await outcomeOf(fault)
  assert.deepEqual(seen, expected)
})

test('counts that are withheld are not made up, and lies are never plausible', async () => {
  const withheld = (await chunksOf('sim?fault=U13')).map(({ type }) => type)
  assert.deepEqual([withheld.at(-1), withheld.includes('usage')], ['finish', false])
  for (const fault of ['U19-negative', 'U19-huge', 'U19-string', 'U19-null']) {
    const last = (await chunksOf(`sim?fault=${fault}`)).at(-1)
    assert.ok(last?.type === 'usage', fault)
    assert.notDeepEqual(judgeReport(last.usage, NO_USAGE, POSSIBLE).anomalies, [], fault)
  }
})

test('a key that is refused is told apart from a request that is', async () => {
  const refusing = async (apiKey: string | undefined, model: string) => {
    const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] })
    const call = { request, upstreamModel: model, apiKey, timers: UPSTREAM_TIMERS }
    const answer = collect(provider.stream(call, new AbortController().signal))
    return answer.then(
      () => 'answered',
      (error: unknown) => (error instanceof UpstreamError ? error.kind : String(error)),
    )
  }
  assert.equal(await refusing('bad-key', 'sim'), 'key_rejected')
  assert.equal(await refusing(undefined, 'sim'), 'key_rejected')
  assert.equal(await refusing('k', 'sim?status=402'), 'key_rejected')
  assert.equal(await refusing('k', 'sim?status=413'), 'rejected')
  assert.equal(await refusing('k', 'sim?status=404'), 'rejected')
})

test('a whole conversation of the chat format is accepted as it is mapped', async () => {
  const messages = [
    { role: 'system', content: 'Be nice.' },
    { role: 'assistant', content: 'How can I help?' },
    { role: 'user', content: '' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      ],
    },
    {
      role: 'assistant',
      content: '',
      tool_calls: [
        { id: 'functions.look:0', type: 'function', function: { name: 'look', arguments: '{"city":' } },
        { id: 'b', type: 'function', function: { name: 'look', arguments: '' } },
      ],
    },
    { role: 'tool', tool_call_id: 'functions.look:0', content: '' },
    { role: 'tool', tool_call_id: 'b', content: 'rain' },
    { role: 'user', content: 'And now?' },
    { role: 'system', content: 'Be brief.' },
    { role: 'assistant', content: 'Well, ' },
  ]
  const tools = [{ type: 'function', function: { name: 'look' } }]
  const more = { messages, tools, tool_choice: 'auto', stop: ['END'], temperature: 0.5, top_p: 1, user: 'u' }
  assert.equal((await chunksOf('sim?tokens=3', more)).filter((chunk) => chunk.type === 'text').length, 3)
})
