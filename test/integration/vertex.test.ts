import assert from 'node:assert/strict'
import { generateKeyPairSync, verify } from 'node:crypto'
import { after, beforeEach, mock, test } from 'node:test'
import { createSimulator } from '../../simulator/server.ts'
import { parseChatRequest } from '../../src/rules/calls/chat-request.ts'
import type { Chunk } from '../../src/rules/calls/chunk.ts'
import { UPSTREAM_TIMERS, type UpstreamTimers } from '../../src/rules/limits.ts'
import { UpstreamError, type UpstreamErrorKind } from '../../src/providers/provider.ts'
import type { UpstreamRequest } from '../../src/providers/upstream-request.ts'
import { collect } from '../../src/providers/support.test.ts'
import { createTransport } from '../../src/providers/transport.ts'
import { createVertex } from '../../src/providers/gemini/vertex.ts'

const simulator = await createSimulator()
const transport = createTransport({ keepAliveMs: 1_000 })
const baseUrl = `${simulator.url}/v1`
const provider = createVertex({ name: 'vertex', baseUrl, settings: { location: 'europe-west4' }, transport })

beforeEach(() => simulator.reset())
after(async () => {
  await transport.close()
  await simulator.close()
})

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ACCOUNT = {
  type: 'service_account',
  project_id: 'shop-1',
  private_key_id: 'k1',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  client_email: 'parley@shop-1.iam.gserviceaccount.com',
}

function keyOf(account: unknown): string {
  return Buffer.from(JSON.stringify(account, null, 2)).toString('base64')
}

interface Asked {
  script?: string
  body?: Record<string, unknown>
  apiKey?: string
  timers?: Partial<UpstreamTimers>
}

async function ask({ script = '', body = {}, apiKey = keyOf(ACCOUNT), timers = {} }: Asked = {}, from = provider) {
  const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hello' }], ...body })
  const upstreamModel = `gemini-2.5-flash?${script}`
  const call = { request, upstreamModel, apiKey, timers: { ...UPSTREAM_TIMERS, ...timers } }
  return collect(from.stream(call, new AbortController().signal))
}

function textOf(chunks: readonly Chunk[]): string {
  return chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('')
}

function fails(kind: UpstreamErrorKind, retryAfterSeconds?: number) {
  return (error: unknown) => {
    assert.ok(error instanceof UpstreamError, `${String(error)} is not an UpstreamError`)
    assert.deepEqual([error.kind, error.retryAfterSeconds], [kind, retryAfterSeconds])
    return true
  }
}

const SAID = 'e\u0301 日本語 𠮷 שלום 👩‍👩‍👧‍👦'

for (const apiKey of ['AIza-express', undefined]) {
  for (const split of [0, 7]) {
    test(`an answer comes whole with ${apiKey ?? 'a service account'}, cut every ${split} bytes`, async () => {
      const chunks = await ask({
        apiKey,
        script: `text=${encodeURIComponent(SAID)}&split=${split}&cached=2&reasoning=3`,
      })
      assert.equal(textOf(chunks), SAID)
      const { promptTokens = 0, generatedTokens = 0 } = simulator.calls[0] ?? {}
      assert.deepEqual(chunks.slice(-2), [
        { type: 'finish', reason: 'stop' },
        {
          type: 'usage',
          usage: { input: promptTokens - 2, cachedInput: 2, cacheWrite: 0, output: generatedTokens, reasoning: 3 },
        },
      ])
    })
  }
}

test('a tool is called and its result goes back, although calls have no ids here', async () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } } }
  const tools = [{ type: 'function', function: { name: 'weather', parameters } }]
  const chunks = await ask({ script: 'tool=weather', body: { tools } })
  const call = chunks.find((chunk) => chunk.type === 'tool_call')
  assert.equal(call?.name, 'weather')
  assert.ok(call.id)
  const messages = [
    { role: 'user', content: 'Weather?' },
    {
      role: 'assistant',
      tool_calls: [{ id: call.id, type: 'function', function: { name: 'weather', arguments: call.arguments } }],
    },
    { role: 'tool', tool_call_id: call.id, content: 'Rain.' },
  ]
  assert.equal(textOf(await ask({ script: 'tool=weather&text=Wet.', body: { tools, messages } })), 'Wet.')
})

function claimsIn(authorization: string | undefined) {
  const [header = '', claims = '', signature = ''] = (authorization ?? '').replace('Bearer ', '').split('.')
  const isSigned = verify(
    'RSA-SHA256',
    Buffer.from(`${header}.${claims}`),
    publicKey,
    Buffer.from(signature, 'base64url'),
  )
  assert.ok(isSigned, 'the signature is that of the account')
  const [head, said] = [header, claims].map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Claims)
  assert.deepEqual(head, { alg: 'RS256', typ: 'JWT', kid: 'k1' })
  return said as Claims
}
type Claims = Record<string, unknown>

test('a service account signs its own token, which is used until shortly before its end', async (context) => {
  context.after(() => mock.timers.reset())
  mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_000 })
  await ask()
  mock.timers.setTime(1_800_000_000_000 + 54 * 60_000)
  await ask()
  mock.timers.setTime(1_800_000_000_000 + 56 * 60_000)
  await ask()
  const [first, second, third] = simulator.calls.map((call) => call.authorization)
  assert.equal(second, first)
  assert.deepEqual(claimsIn(first), {
    iss: ACCOUNT.client_email,
    sub: ACCOUNT.client_email,
    scope: 'https://www.googleapis.com/auth/cloud-platform',
    iat: 1_800_000_000,
    exp: 1_800_003_600,
  })
  assert.equal(claimsIn(third).iat, 1_800_000_000 + 56 * 60)
})

test('a service account that cannot sign is a rejected key, and is never sent as an API key', async () => {
  const { privateKey: other } = generateKeyPairSync('ed25519')
  for (const account of [
    {},
    [],
    { ...ACCOUNT, client_email: '' },
    { ...ACCOUNT, private_key: 'no key' },
    { ...ACCOUNT, private_key: other.export({ type: 'pkcs8', format: 'pem' }) },
    { ...ACCOUNT, project_id: '../../v1/other' },
  ]) {
    await assert.rejects(ask({ apiKey: keyOf(account) }), fails('key_rejected'))
  }
  assert.equal(simulator.calls.length, 0)
})

test('the address is made of the project, the location and the model', async () => {
  const sent: string[] = []
  const recorder = {
    ...transport,
    async *exchange(request: UpstreamRequest) {
      sent.push(request.url)
      yield []
    },
  }
  for (const [host, settings, upstreamModel, apiKey] of [
    ['us-central1-aiplatform.googleapis.com', undefined, 'gemini-x', keyOf(ACCOUNT)],
    ['aiplatform.eu.rep.googleapis.com', { project: 'other' }, 'gemini-x', keyOf(ACCOUNT)],
    ['aiplatform.googleapis.com', {}, 'endpoints/123', keyOf(ACCOUNT)],
    ['aiplatform.googleapis.com', { project: 'p', location: 'l' }, 'gemini-x', 'AIza-express'],
  ] as const) {
    const options = { name: 'v', baseUrl: `https://${host}/v1/`, settings, transport: recorder }
    const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] })
    const call = { request, upstreamModel, apiKey, timers: UPSTREAM_TIMERS }
    const stream = createVertex(options).stream(call, new AbortController().signal)
    for await (const _ of stream);
  }
  assert.deepEqual(
    sent.map((url) => url.replace(/\?alt=sse$/, '').replace(':streamGenerateContent', '')),
    [
      'https://us-central1-aiplatform.googleapis.com/v1/projects/shop-1/locations/us-central1/publishers/google/models/gemini-x',
      'https://aiplatform.eu.rep.googleapis.com/v1/projects/other/locations/eu/publishers/google/models/gemini-x',
      'https://aiplatform.googleapis.com/v1/projects/shop-1/locations/global/endpoints/123',
      'https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-x',
    ],
  )
})

test('settings that would lead elsewhere are refused', () => {
  for (const settings of [{ project: 'a/b' }, { location: '../x' }, { unknown: 1 }]) {
    assert.throws(() => createVertex({ name: 'v', baseUrl, settings, transport }), JSON.stringify(settings))
  }
})

test('refusals, errors and stalls of the upstream are named as everywhere', async () => {
  for (const [script, kind, retryAfterSeconds] of [
    ['status=403', 'key_rejected'],
    ['fault=U10', 'rate_limited', 2],
    ['fault=U12-midstream', 'error_in_200'],
    ['fault=U14-eof', 'truncated'],
  ] as [string, UpstreamErrorKind, number?][]) {
    await assert.rejects(ask({ script }), fails(kind, retryAfterSeconds), script)
  }
  await assert.rejects(ask({ script: 'fault=U6', timers: { idleMs: 80 } }), fails('idle_timeout'))
  await assert.rejects(ask({ apiKey: 'bad-key' }), fails('key_rejected'))
})
