import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, afterEach, beforeEach, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { bedrock as dialect } from '../../simulator/bedrock.ts'
import { createSimulator } from '../../simulator/server.ts'
import { parseChatRequest } from '../../src/rules/calls/chat-request.ts'
import type { Chunk } from '../../src/rules/calls/chunk.ts'
import { UPSTREAM_TIMERS, type UpstreamTimers } from '../../src/rules/limits.ts'
import { createBedrock, createFrameSplitter } from '../../src/providers/bedrock/bedrock.ts'
import type { BodyReader } from '../../src/providers/body-reader.ts'
import type { UpstreamRequest } from '../../src/providers/upstream-request.ts'
import { UpstreamError, type UpstreamErrorKind } from '../../src/providers/provider.ts'
import { collect } from '../../src/providers/support.test.ts'
import { createTransport, type Transport } from '../../src/providers/transport.ts'

const simulator = await createSimulator()
const real = createTransport({ keepAliveMs: 1_000 })
let begun = 0
let open = 0
/** Counts the exchanges whose timers and sockets are still held. */
const transport: Transport = {
  ...real,
  async *exchange<Part, Piece>(request: UpstreamRequest, reader: BodyReader<Part, Piece>, signal: AbortSignal) {
    begun++
    open++
    try {
      yield* real.exchange(request, reader, signal)
    } finally {
      open--
    }
  },
}
const provider = createBedrock({
  name: 'bedrock',
  baseUrl: simulator.url,
  settings: { region: 'eu-west-1' },
  transport,
})

beforeEach(() => {
  simulator.reset()
  begun = 0
})
afterEach(async () => {
  for (let i = 0; i < 100 && open > 0; i++) await turn()
  assert.equal(open, 0, 'however a call ends, nothing of it is left behind')
})
after(async () => {
  await real.close()
  await simulator.close()
})

interface Asked {
  script?: string
  body?: Record<string, unknown>
  apiKey?: string
  timers?: Partial<UpstreamTimers>
  signal?: AbortSignal
}

function ask({ script = '', body = {}, apiKey = 'ABSK-key', timers = {}, signal }: Asked = {}, from = provider) {
  const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hello' }], ...body })
  const call = {
    request,
    upstreamModel: `anthropic.claude-3-haiku-20240307-v1:0?${script}`,
    apiKey,
    timers: { ...UPSTREAM_TIMERS, ...timers },
  }
  return from.stream(call, signal ?? new AbortController().signal)
}

function textOf(chunks: readonly Chunk[], type: 'text' | 'reasoning' = 'text'): string {
  return chunks.map((chunk) => (chunk.type === type ? chunk.text : '')).join('')
}

function fails(kind: UpstreamErrorKind, check?: (error: UpstreamError) => void) {
  return (error: unknown) => {
    assert.ok(error instanceof UpstreamError, `${String(error)} is not an UpstreamError`)
    assert.equal(error.kind, kind)
    check?.(error)
    return true
  }
}

const SAID = 'e\u0301 日本語 𠮷 שלום 👩‍👩‍👧‍👦 "and" \\ {}'

for (const split of [0, 1, 7]) {
  test(`an answer is whole when it comes in pieces of ${split || 'any number of'} bytes`, async () => {
    const chunks = await collect(ask({ script: `text=${encodeURIComponent(SAID)}&split=${split}` }))
    assert.equal(textOf(chunks), SAID)
    assert.ok(chunks.filter((chunk) => chunk.type === 'text').length > 5, 'it comes in pieces')
    const prompt = simulator.calls[0]?.promptTokens
    const output = simulator.calls[0]?.generatedTokens
    assert.deepEqual(chunks.slice(-2), [
      { type: 'finish', reason: 'stop' },
      { type: 'usage', usage: { input: prompt, cachedInput: 0, cacheWrite: 0, output, reasoning: 0 } },
    ])
  })
}

test('cached and cache-writing tokens are in their own buckets, and thoughts are told from the answer', async () => {
  const body = { messages: [{ role: 'user', content: 'A prompt of more than a few tokens, to be cached in parts.' }] }
  const chunks = await collect(ask({ body, script: 'text=Hi&thoughts=Hmm,+well&cached=5&written=2' }))
  assert.equal(textOf(chunks, 'reasoning'), 'Hmm, well')
  assert.equal(textOf(chunks), 'Hi')
  const last = chunks.at(-1)
  assert.ok(last?.type === 'usage')
  assert.deepEqual([last.usage.cachedInput, last.usage.cacheWrite], [5, 2])
  assert.equal(last.usage.input + 7, simulator.calls[0]?.promptTokens)
})

const TOOL = {
  type: 'function',
  function: { name: 'weather', parameters: { properties: { city: { type: 'string' } } } },
}

test('a call of a tool comes in fragments, and its result goes back under its id', async () => {
  const tools = [TOOL]
  const chunks = await collect(ask({ script: 'tool=weather', body: { tools } }))
  const calls = chunks.filter((chunk) => chunk.type === 'tool_call')
  assert.deepEqual([...new Set(calls.map((call) => call.index))], [0])
  assert.equal(calls[0]?.name, 'weather')
  const written = calls.map((call) => call.arguments).join('')
  assert.deepEqual(Object.keys(JSON.parse(written) as object), ['city'])
  assert.deepEqual(
    chunks.find((chunk) => chunk.type === 'finish'),
    { type: 'finish', reason: 'tool_calls' },
  )

  // An id of another provider, which is not allowed here.
  const id = 'call:1'
  const messages = [
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'weather', arguments: written } }] },
    { role: 'tool', tool_call_id: id, content: 'Rain.' },
  ]
  const answer = await collect(ask({ script: 'tool=weather&text=Take+an+umbrella.', body: { tools, messages } }))
  assert.equal(textOf(answer), 'Take an umbrella.')
})

test('a tool that wants no arguments is called with an empty object', async () => {
  const tools = [{ type: 'function', function: { name: 'now' } }]
  const chunks = await collect(ask({ script: 'tool=now', body: { tools } }))
  const written = chunks.map((chunk) => (chunk.type === 'tool_call' ? chunk.arguments : '')).join('')
  assert.equal(written, '{}')
})

test('every field of a request has its place in the body', async () => {
  await collect(
    ask({
      body: {
        messages: [
          { role: 'system', content: 'Be brief.' },
          {
            role: 'user',
            content: [{ type: 'text', text: 'What is this?' }, image('data:image/png;base64,iVBORw0KGgo=')],
          },
          { role: 'assistant', content: 'A dot.' },
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'Thanks ' },
          { role: 'user', content: 'a lot' },
        ],
        max_tokens: 20,
        temperature: 0.5,
        stop: 'END',
        tools: [TOOL],
        tool_choice: 'required',
      },
    }),
  )
  assert.deepEqual(simulator.calls[0]?.body, {
    system: [{ text: 'Be brief.' }, { text: 'Be kind.' }],
    messages: [
      {
        role: 'user',
        content: [{ text: 'What is this?' }, { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } }],
      },
      { role: 'assistant', content: [{ text: 'A dot.' }] },
      { role: 'user', content: [{ text: 'Thanks ' }, { text: 'a lot' }] },
    ],
    additionalModelResponseFieldPaths: ['/delta/stop_sequence'],
    inferenceConfig: { maxTokens: 20, temperature: 0.5, stopSequences: ['END'] },
    toolConfig: {
      tools: [
        { toolSpec: { name: 'weather', inputSchema: { json: { type: 'object', ...TOOL.function.parameters } } } },
      ],
      toolChoice: { any: {} },
    },
  })
})

test('an answer that a schema shapes comes as text', async () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } } }
  const response_format = { type: 'json_schema', json_schema: { name: 'place', schema } }
  const chunks = await collect(ask({ script: 'tool=json', body: { response_format } }))
  assert.deepEqual(Object.keys(JSON.parse(textOf(chunks)) as object), ['city'])
  assert.deepEqual(
    chunks.find((chunk) => chunk.type === 'finish'),
    { type: 'finish', reason: 'stop' },
  )
})

function image(url: string) {
  return { type: 'image_url', image_url: { url } }
}

test('what the package would leave out for this model is refused before anything is sent', async () => {
  const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], stop: 'END' })
  const call = { request, upstreamModel: 'openai.gpt-oss-20b-1:0', apiKey: 'k', timers: UPSTREAM_TIMERS }
  await assert.rejects(collect(provider.stream(call, new AbortController().signal)), fails('rejected'))
  assert.equal(begun, 0)
})

test('an API key is a bearer token, and two or three words with colons sign the request', async (context) => {
  // The package would prefer these to what it is not given.
  const others = { AWS_BEARER_TOKEN_BEDROCK: 'other', AWS_SESSION_TOKEN: 'other', AWS_REGION: 'us-east-1' }
  Object.assign(process.env, others)
  context.after(() => Object.keys(others).forEach((name) => delete process.env[name]))
  await collect(ask({ apiKey: 'ABSK-key' }))
  await collect(ask({ apiKey: 'AKIDEXAMPLE:secret/+=' }))
  await collect(ask({ apiKey: 'AKIDEXAMPLE:secret/+=:session' }))
  const [bearer, signed, inSession] = simulator.calls.map((call) => call.authorization ?? '')
  assert.equal(bearer, 'Bearer ABSK-key')
  assert.match(signed ?? '', /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/bedrock\/aws4_request, /)
  assert.doesNotMatch(signed ?? '', /x-amz-security-token/)
  assert.match(inSession ?? '', /SignedHeaders=[^,]*x-amz-security-token/)
  for (const apiKey of ['', 'a:', ':b', 'a:b:c:d']) {
    await assert.rejects(collect(ask({ apiKey })), fails('key_rejected'), apiKey)
  }
  assert.equal(simulator.calls.length, 3)
})

test('the signature is that of what is sent, as Amazon computes it', async () => {
  let said: string | undefined
  let expected: string | undefined
  await answeredWith(Buffer.concat(FRAMES), 'AKIDEXAMPLE:secret', ({ url = '', headers }) => {
    const date = String(headers['x-amz-date'])
    const scope = `${date.slice(0, 8)}/eu-west-1/bedrock/aws4_request`
    const [, signedHeaders = '', signature] =
      /SignedHeaders=([^,]+), Signature=(\w+)$/.exec(headers.authorization ?? '') ?? []
    const path = url.split('/').map(encodeURIComponent).join('/')
    const lines = signedHeaders.split(';').map((name) => `${name}:${String(headers[name])}\n`)
    const bodyHash = String(headers['x-amz-content-sha256'] ?? sha256(BODY))
    const canonical = ['POST', path, '', lines.join(''), signedHeaders, bodyHash].join('\n')
    const key = [date.slice(0, 8), 'eu-west-1', 'bedrock', 'aws4_request'].reduce<string | Buffer>(hmac, 'AWS4secret')
    expected = hmac(key, ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')).toString('hex')
    said = signature
  })
  assert.match(said ?? '', /^[0-9a-f]{64}$/)
  assert.equal(said, expected)
})

/** The body that `ask` sends by default. */
const BODY = JSON.stringify({
  system: [],
  messages: [{ role: 'user', content: [{ text: 'Hello' }] }],
  additionalModelResponseFieldPaths: ['/delta/stop_sequence'],
})

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

test('the region is that of the host, or the one that is set', () => {
  const create = (baseUrl: string, settings: unknown) => createBedrock({ name: 'b', baseUrl, settings, transport })
  create('https://bedrock-runtime.us-east-1.amazonaws.com', undefined)
  create('https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com/', {})
  assert.throws(() => create('https://proxy.example.com', {}), /region/)
  assert.throws(() => create('https://proxy.example.com', { region: 'eu-west-1', other: 1 }), /other/)
})

for (const [script, kind, after] of [
  ['fault=U10', 'rate_limited', (error) => assert.equal(error.retryAfterSeconds, 2)],
  ['status=403', 'key_rejected', (error) => assert.equal(error.status, 403)],
  ['status=400', 'rejected'],
  ['status=408', 'server_error'],
  ['status=424', 'server_error'],
  ['fault=U11-502', 'server_error'],
  ['fault=U12-json', 'error_in_200'],
  ['fault=U12-sse', 'error_in_200'],
  ['fault=U12-midstream', 'error_in_200'],
  ['fault=U7-badjson', 'bad_event'],
  ['fault=U9-bigevent', 'event_too_big'],
  ['fault=U14-eof', 'truncated'],
  ['fault=U14-close', 'truncated'],
  ['fault=U14-short', 'truncated'],
  ['fault=U14-rst', 'truncated'],
  ['fault=U16-gzip', 'encoding'],
  ['fault=U17-status', 'protocol'],
  ['fault=U17-chunk', 'truncated'],
  ['fault=U18', 'redirect'],
  ['fault=U19-string', 'bad_event'],
] as [string, UpstreamErrorKind, ((error: UpstreamError) => void)?][]) {
  test(`${script} is ${kind}, and tells nothing of what the upstream said`, async () => {
    await assert.rejects(
      collect(ask({ script: `${script}&tokens=20` })),
      fails(kind, (error) => {
        assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /simulated/)
        after?.(error)
      }),
    )
  })
}

test('a stall before or within the answer ends with the timer for it', async () => {
  await assert.rejects(collect(ask({ script: 'fault=U5', timers: { firstTokenMs: 80 } })), fails('first_token_timeout'))
  await assert.rejects(collect(ask({ script: 'fault=U6', timers: { idleMs: 80 } })), fails('idle_timeout'))
  await assert.rejects(collect(ask({ script: 'gap=20&tokens=100', timers: { totalMs: 150 } })), fails('total_timeout'))
})

async function untilIdle(): Promise<void> {
  while (simulator.openCalls() > 0) await turn()
}

test('a hang-up ends the call at once with its reason, in the middle of a silence', { timeout: 10_000 }, async () => {
  const hangUp = new AbortController()
  const reason = new Error('the caller left')
  const stream = ask({ script: 'fault=U6', signal: hangUp.signal })
  await assert.rejects(
    (async () => {
      let seen = 0
      for await (const _ of stream) if (++seen === 3) setImmediate(() => hangUp.abort(reason))
    })(),
    reason,
  )
  await untilIdle()
  assert.equal(simulator.calls[0]?.ended, 'cancelled')
})

test(
  'leaving the loop closes the connection at once, also while the upstream is silent',
  { timeout: 10_000 },
  async () => {
    let seen = 0
    for await (const _ of ask({ script: 'fault=U6&after=3' })) {
      if (++seen < 3) continue
      // By then the package reads ahead, and waits.
      for (let i = 0; i < 50; i++) await turn()
      break
    }
    await untilIdle()
    assert.equal(simulator.calls[0]?.ended, 'cancelled')
  },
)

test('a call that was given up before it began sends nothing', async () => {
  const reason = new Error('too late')
  await assert.rejects(collect(ask({ signal: AbortSignal.abort(reason) })), reason)
  assert.equal(simulator.calls.length, 0)
})

test('a slow reader slows the upstream down, and is not taken for a silent upstream', { timeout: 30_000 }, async () => {
  let chunks = 0
  for await (const [chunk] of ask({ script: 'tokens=100000', timers: { idleMs: 500 } })) {
    assert.equal(chunk?.type, 'text')
    if (++chunks === 1_000) break
    if (chunks > 1) continue
    await new Promise((resolve) => setTimeout(resolve, 700))
    assert.ok((simulator.calls[0]?.generatedTokens ?? 0) < 90_000, 'the upstream could not write it all ahead')
  }
  await untilIdle()
  assert.equal(simulator.calls[0]?.ended, 'cancelled')
})

const FRAMES = [
  ['messageStart', { role: 'assistant' }],
  ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hello' } }],
  ['contentBlockStop', { contentBlockIndex: 0 }],
  ['messageStop', { stopReason: 'end_turn' }],
].map(([name, data]) => Buffer.from(dialect.framing!.frame({ name: name as string, data: JSON.stringify(data) })))

/** Answers every request with these bytes. */
async function answeredWith(bytes: Buffer, apiKey?: string, onRequest?: (request: IncomingMessage) => void) {
  const server = createServer((request, response) => {
    onRequest?.(request)
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' }).end(bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const local = createBedrock({ name: 'b', baseUrl, settings: { region: 'eu-west-1' }, transport })
    return await collect(ask({ apiKey }, local))
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('a finish without usage is an answer; one cut anywhere before its finish is not', async () => {
  const whole = Buffer.concat(FRAMES)
  const expected = [
    { type: 'text', text: 'Hello' },
    { type: 'finish', reason: 'stop' },
  ]
  assert.deepEqual(await answeredWith(whole), expected)
  for (let at = 0; at < whole.length; at += 23) {
    await assert.rejects(answeredWith(whole.subarray(0, at)), fails('truncated'), `cut at byte ${at}`)
  }
})

test('a frame with a wrong checksum, or one that is shorter than possible, is a bad event', async () => {
  for (const at of [9, 30, FRAMES[0]!.length - 1]) {
    const whole = Buffer.concat(FRAMES)
    whole[at]! ^= 1
    await assert.rejects(answeredWith(whole), fails('bad_event'), `byte ${at} was changed`)
  }
  const short = Buffer.concat(FRAMES)
  short.writeUInt32BE(3)
  await assert.rejects(answeredWith(short), fails('bad_event'))
})

test('stop reasons that the package does not know are not lost', async () => {
  const [start, delta, stop] = FRAMES as [Buffer, Buffer, Buffer]
  const withReason = (stopReason: string) =>
    Buffer.concat([
      start,
      delta,
      stop,
      dialect.framing!.frame({ name: 'messageStop', data: JSON.stringify({ stopReason }) }),
    ])
  for (const [theirs, ours] of [
    ['model_context_window_exceeded', 'length'],
    ['guardrail_intervened', 'content_filter'],
  ] as const) {
    assert.deepEqual((await answeredWith(withReason(theirs))).at(-1), { type: 'finish', reason: ours })
  }
  for (const odd of ['malformed_tool_use', 'malformed_model_output', 'something_new']) {
    assert.deepEqual((await answeredWith(withReason(odd))).at(-1), { type: 'finish', reason: 'stop', odd })
  }
})

test('the package is loaded by the first call, not by a gateway that has no such provider', () => {
  const code = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
    const { createProvider } = await import('./src/providers/create-provider.ts')
    createProvider({ kind: 'bedrock', name: 'b', baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com' }, {})
    console.log(loaded.some((url) => url.endsWith('/bedrock.ts')), loaded.some((url) => url.includes('@ai-sdk')))
  `
  const options = { encoding: 'utf8', cwd: join(import.meta.dirname, '../..') } as const
  assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', code], options), 'true false\n')
})

test('frames are the same, wherever the bytes are cut', async () => {
  const whole = Buffer.concat(FRAMES)
  for (let at = 1; at < whole.length; at++) {
    const frames: Buffer[] = []
    const splitter = createFrameSplitter()
    for (const piece of [whole.subarray(0, at), whole.subarray(at)]) splitter.split(piece, frames)
    splitter.splitRest(frames)
    assert.deepEqual(frames, FRAMES, `cut at byte ${at}`)
  }
})
