import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { GoogleGenAI, type Content, type GenerateContentConfig } from '@google/genai'
import { createSimulator, type Simulator } from '../../simulator/server.ts'
import { requestBodyOf } from '../../src/providers/gemini/gemini-request.ts'
import { createGemini } from '../../src/providers/gemini/gemini.ts'
import { UpstreamError } from '../../src/providers/provider.ts'
import { collect } from '../../src/providers/support.test.ts'
import { createTransport, type Transport } from '../../src/providers/transport.ts'
import { parseChatRequest, type ChatRequest } from '../../src/rules/calls/chat-request.ts'
import { UPSTREAM_TIMERS } from '../../src/rules/limits.ts'

/** Google's own SDK and that of Vercel read the same streams as our adapter. Where all three agree, ours is right. */

let simulator: Simulator
let transport: Transport
before(async () => {
  simulator = await createSimulator()
  transport = createTransport()
})
after(async () => {
  await transport.close()
  await simulator.close()
})

/** The part of an answer that each reader can tell. */
interface Reading {
  text: string
  thoughts: string
  calls: { name: string; args: unknown }[]
  finish: string
  prompt: number
  cached: number
  output: number
  reasoning: number
}

const NOTHING: Reading = {
  text: '',
  thoughts: '',
  calls: [],
  finish: '',
  prompt: 0,
  cached: 0,
  output: 0,
  reasoning: 0,
}

const MODEL = 'gemini-2.5-flash'

async function readByUs(request: ChatRequest, upstreamModel = MODEL, apiKey = 'key'): Promise<Reading> {
  const provider = createGemini({ name: 'gemini', baseUrl: `${simulator.url}/v1beta`, settings: {}, transport })
  const reading: Reading = { ...NOTHING, calls: [] }
  const call = { request, upstreamModel, apiKey, timers: UPSTREAM_TIMERS }
  for (const chunk of await collect(provider.stream(call, new AbortController().signal))) {
    if (chunk.type === 'text') reading.text += chunk.text
    else if (chunk.type === 'reasoning') reading.thoughts += chunk.text
    else if (chunk.type === 'tool_call') {
      reading.calls.push({ name: chunk.name ?? '', args: JSON.parse(chunk.arguments) })
    } else if (chunk.type === 'finish') reading.finish = chunk.reason
    else if (chunk.type === 'usage') {
      const { input, cachedInput, output, reasoning } = chunk.usage
      Object.assign(reading, { prompt: input + cachedInput, cached: cachedInput, output, reasoning })
    }
  }
  return reading
}

const FINISH_OF_GOOGLE: Record<string, string> = { STOP: 'stop', MAX_TOKENS: 'length' }

/** Is handed our own request body, so that it is checked too: their types are the API's. */
async function readByGoogle(request: ChatRequest): Promise<Reading> {
  const client = new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl: simulator.url } })
  const body = requestBodyOf(request, { upstreamModel: MODEL, hasCallIds: true })
  const { contents, generationConfig, ...rest } = JSON.parse(JSON.stringify(body)) as {
    contents: Content[]
    generationConfig: GenerateContentConfig
  }
  const config = { ...generationConfig, ...rest }
  const reading: Reading = { ...NOTHING, calls: [] }
  for await (const chunk of await client.models.generateContentStream({ model: MODEL, contents, config })) {
    const candidate = chunk.candidates?.[0]
    for (const part of candidate?.content?.parts ?? []) {
      if (part.thought === true) reading.thoughts += part.text ?? ''
      else reading.text += part.text ?? ''
    }
    for (const { name = '', args } of chunk.functionCalls ?? []) reading.calls.push({ name, args })
    const usage = chunk.usageMetadata
    reading.prompt = usage?.promptTokenCount ?? 0
    reading.cached = usage?.cachedContentTokenCount ?? 0
    reading.output = usage?.candidatesTokenCount ?? 0
    reading.reasoning = usage?.thoughtsTokenCount ?? 0
    if (candidate?.finishReason) reading.finish = FINISH_OF_GOOGLE[candidate.finishReason] ?? candidate.finishReason
  }
  if (reading.calls.length > 0 && reading.finish === 'stop') reading.finish = 'tool_calls'
  return reading
}

async function readByVercel(request: ChatRequest): Promise<Reading> {
  const google = createGoogleGenerativeAI({ apiKey: 'key', baseURL: `${simulator.url}/v1beta` })
  const question = request.messages.at(-1)?.content
  const { stream } = await google(MODEL).doStream({
    prompt: [{ role: 'user', content: [{ type: 'text', text: typeof question === 'string' ? question : '' }] }],
    ...(request.max_tokens !== undefined && { maxOutputTokens: request.max_tokens }),
    ...(request.tools && {
      tools: request.tools.map((tool) => ({
        type: 'function' as const,
        name: tool.function.name,
        inputSchema: tool.function.parameters ?? {},
      })),
    }),
  })
  const reading: Reading = { ...NOTHING, calls: [] }
  for await (const part of stream) {
    if (part.type === 'text-delta') reading.text += part.delta
    else if (part.type === 'reasoning-delta') reading.thoughts += part.delta
    else if (part.type === 'tool-call') reading.calls.push({ name: part.toolName, args: JSON.parse(part.input) })
    else if (part.type === 'error') throw part.error
    else if (part.type === 'finish') {
      const { inputTokens, outputTokens } = part.usage
      reading.finish = part.finishReason.unified.replace('-', '_')
      reading.prompt = inputTokens.total ?? 0
      reading.cached = inputTokens.cacheRead ?? 0
      reading.output = outputTokens.text ?? 0
      reading.reasoning = outputTokens.reasoning ?? 0
    }
  }
  return reading
}

const PARAMETERS = { type: 'object', properties: { place: { type: 'string' }, days: { type: 'integer' } } }
const TOOLS = [{ type: 'function', function: { name: 'look_up', description: 'Finds', parameters: PARAMETERS } }]

function requestOf(script: string, more: Record<string, unknown> = {}): ChatRequest {
  return parseChatRequest({ model: 'm', messages: [{ role: 'user', content: `Hello [[sim ${script}]]` }], ...more })
}

const CASES: [what: string, request: ChatRequest, expected: Partial<Reading>][] = [
  [
    'text',
    requestOf('text=Bonjour,%20%E4%B8%96%E7%95%8C%20%F0%9F%91%8B'),
    { text: 'Bonjour, 世界 👋', finish: 'stop' },
  ],
  ['many tokens in odd bytes', requestOf('utf8=1 tokens=30 split=7 newline=crlf'), { output: 30 }],
  ['a cut answer', requestOf('tokens=30', { max_tokens: 7 }), { output: 7, finish: 'length' }],
  ['a function call', requestOf('tool=look_up', { tools: TOOLS }), { text: '', finish: 'tool_calls' }],
  ['thoughts', requestOf('tokens=5 thoughts=Let%20me%20see'), { thoughts: 'Let me see', output: 5, reasoning: 3 }],
  ['cached usage', requestOf('tokens=9 cached=6 reasoning=40'), { output: 9, cached: 6, reasoning: 40 }],
]

for (const [what, request, expected] of CASES) {
  test(`${what}: our adapter reads what Google's SDK and Vercel's read`, async () => {
    const ours = await readByUs(request)
    assert.deepEqual({ ...ours, ...expected }, ours)
    assert.deepEqual(await readByGoogle(request), ours)
    assert.deepEqual(await readByVercel(request), ours)
    assert.ok(ours.prompt > 0 && (what === 'a function call') === ours.calls.length > 0)
  })
}

function toolCall(id: string, args: string): unknown {
  return { id, type: 'function', function: { name: 'look_up', arguments: args } }
}

test('a conversation with calls, results and every other field is accepted, also by a model that demands signatures', async () => {
  const request = parseChatRequest({
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See ' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
        ],
      },
      { role: 'assistant', content: 'Looking.', tool_calls: [toolCall('a', '{"place":"x"}'), toolCall('b', '')] },
      { role: 'tool', tool_call_id: 'a', content: 'sunny' },
      { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'rain' }] },
      { role: 'user', content: 'Thanks [[sim text=Welcome]]' },
    ],
    tools: TOOLS,
    tool_choice: { type: 'function', function: { name: 'look_up' } },
    temperature: 0.5,
    top_p: 0.9,
    stop: ['a', 'b', 'c', 'd'],
    seed: 7,
    max_tokens: 50,
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } },
  })
  // Before the third version JSON and functions do not go together.
  const older = { ...request, response_format: undefined }
  assert.equal((await readByUs(older, MODEL)).text, 'Welcome')
  assert.equal((await readByUs(request, 'gemini-3-pro-preview')).text, 'Welcome')
})

test('a wrong key is a rejected key and not a wrong request', async () => {
  const isKind = (kind: string) => (error: unknown) => error instanceof UpstreamError && error.kind === kind
  await assert.rejects(readByUs(requestOf('tokens=5'), MODEL, 'bad-key'), isKind('key_rejected'))
  await assert.rejects(readByUs(requestOf('tokens=5 status=400')), isKind('rejected'))
})

test('what is cut off, broken or an error is never taken for an answer', async () => {
  for (const [fault, kind] of [
    ['U7-badjson', 'bad_event'],
    ['U10', 'rate_limited'],
    ['U11-503', 'server_error'],
    ['U12-json', 'error_in_200'],
    ['U12-sse', 'error_in_200'],
    ['U12-midstream', 'error_in_200'],
    ['U14-eof', 'truncated'],
    ['U14-close', 'truncated'],
    ['U14-short', 'truncated'],
    ['U14-rst', 'truncated'],
    ['U14-nodone', 'truncated'],
    ['U19-nan', 'bad_event'],
  ] as const) {
    const failed = (error: unknown) => error instanceof UpstreamError && error.kind === kind
    await assert.rejects(readByUs(requestOf(`tokens=8 fault=${fault}`)), failed, fault)
  }
})

test('a legal oddity of the stream changes nothing', async () => {
  for (const fault of ['U7-bom', 'U7-cr', 'U7-nospace', 'U7-comments', 'U7-multiline', 'U7-unknown-fields', 'U8']) {
    assert.equal((await readByUs(requestOf(`text=same fault=${fault}`))).text, 'same', fault)
  }
})
