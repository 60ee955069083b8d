import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { PROVIDER_KINDS } from '../../src/providers/create-provider.ts'
import { fieldsIn } from '../../src/rules/record.ts'
import { parley } from '../support/commands.ts'
import { asked, here, refused, told } from '../support/operator.ts'
import { addProvider, complete, createWorld, until, type World } from '../support/world.ts'

/** Settings that operators add to the requests of a route, and the preview of a request before it is sent. */

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PEM = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
const ACCOUNT = {
  type: 'service_account',
  project_id: 'shop-1',
  private_key_id: 'id-of-the-key-0001',
  private_key: PEM,
  client_email: 'parley@shop-1.iam.gserviceaccount.com',
}

interface Format {
  kind: string
  path: string
  settings?: Record<string, unknown>
  upstreamModel: string
  apiKey: string
  extra: Record<string, unknown>
  /** The header of the credential. */
  carrier: string
  /** Where the request goes, behind the base URL. */
  to: string
  /** The effect of `extra` on the body when the caller asks for a temperature of 0.3. */
  sent: Record<string, unknown>
}

const GEMINI = {
  upstreamModel: 'gemini-2.5-flash',
  extra: { safetySettings: [], generationConfig: { topK: 3, temperature: 0.9 } },
  sent: { safetySettings: [], generationConfig: { topK: 3, temperature: 0.3 } },
}
const BEDROCK = {
  kind: 'bedrock',
  path: '',
  settings: { region: 'eu-west-1' },
  upstreamModel: 'anthropic.claude-3-haiku-20240307-v1:0',
  extra: { top_k: 3 },
  carrier: 'authorization',
  to: '/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse-stream',
  sent: { additionalModelRequestFields: { top_k: 3 }, inferenceConfig: { temperature: 0.3 } },
}

const FORMATS: Record<string, Format> = {
  openai: {
    kind: 'openai-compatible',
    path: '/v1',
    settings: { headers: { 'x-team': 'shop' }, promptCacheKey: true },
    upstreamModel: 'gpt',
    apiKey: 'sk-openai-very-secret-0001',
    extra: { reasoning_effort: 'none', temperature: 0.9 },
    carrier: 'authorization',
    to: '/chat/completions',
    sent: { reasoning_effort: 'none', temperature: 0.3, model: 'gpt', stream: true },
  },
  anthropic: {
    kind: 'anthropic',
    path: '/v1',
    upstreamModel: 'claude-sonnet-4-5',
    apiKey: 'sk-ant-very-secret-0002',
    extra: { top_k: 3, temperature: 0.9 },
    carrier: 'x-api-key',
    to: '/messages',
    sent: { top_k: 3, temperature: 0.3, model: 'claude-sonnet-4-5' },
  },
  gemini: {
    kind: 'gemini',
    path: '/v1beta',
    apiKey: 'AIza-very-secret-0003',
    carrier: 'x-goog-api-key',
    to: '/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    ...GEMINI,
  },
  vertex: {
    kind: 'vertex',
    path: '/v1',
    settings: { location: 'europe-west4' },
    apiKey: Buffer.from(JSON.stringify(ACCOUNT)).toString('base64'),
    carrier: 'authorization',
    to: '/projects/shop-1/locations/europe-west4/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    ...GEMINI,
  },
  bedrock: { ...BEDROCK, apiKey: 'AKIAVERYSECRET04:secret-access-key-0004:session-token-0004' },
  'bedrock-bearer': { ...BEDROCK, apiKey: 'ABSK-very-secret-0005' },
}

let world: World
let dir: string

before(async () => {
  world = await createWorld()
  dir = await mkdtemp(join(tmpdir(), 'parley-requests-'))
  const { DATABASE_URL = '', PARLEY_SECRET = '' } = world.env
  Object.assign(process.env, { DATABASE_URL, PARLEY_SECRET })
  for (const [name, { kind, path, settings, apiKey, upstreamModel, extra }] of Object.entries(FORMATS)) {
    const about = { apiKey, kind, ...(settings && { settings }) }
    await addProvider(world.store, world.secrets, name, `${world.simulator.url}${path}`, about)
    await told('model', 'add', `${name}-model`, '--owned-by', 'us', '--input', '1', '--output', '2')
    await route(`${name}-model`, name, upstreamModel, '--extra-body', JSON.stringify(extra))
  }
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes('"bedrock-bearer-model"')
  })
})
after(async () => {
  await world.close()
  await rm(dir, { recursive: true })
})

function route(model: string, provider: string, upstreamModel: string, ...more: string[]): Promise<unknown> {
  return asked('model', 'route', model, '--provider', provider, '--upstream-model', upstreamModel, ...more)
}

async function fileOf(body: unknown): Promise<string> {
  const path = join(dir, 'request.json')
  await writeFile(path, typeof body === 'string' ? body : JSON.stringify(body))
  return path
}

const HELLO = [{ role: 'user', content: 'Hello' }]

interface Document {
  refusal: unknown
  routes: { request: { method: string; url: string; headers: Record<string, string>; body: unknown } }[]
}

test('every kind of provider is among those that are tried here', () => {
  assert.deepEqual(new Set(Object.values(FORMATS).map(({ kind }) => kind)), new Set(PROVIDER_KINDS))
})

for (const [name, format] of Object.entries(FORMATS)) {
  describe(name, () => {
    const request = { model: `${name}-model`, messages: HELLO, temperature: 0.3, max_tokens: 50 }

    test('the extra body reaches the provider, and what the caller says itself counts', async () => {
      const response = await complete(world, request)
      assert.equal(response.status, 200, await response.text())
      assert.partialDeepStrictEqual(world.simulator.calls.at(-1)?.body, format.sent)
    })

    test('what is shown is what is sent, and nothing is sent for it', async () => {
      const response = await complete(world, request)
      await response.arrayBuffer()
      const { calls } = world.simulator
      const before = calls.length
      const shown = (await asked('provider', 'test', name, '--request', await fileOf(request))) as Document
      assert.equal(calls.length, before)
      assert.equal(shown.refusal, null)
      assert.equal(shown.routes.length, 1)
      const { method, url, headers, body } = shown.routes[0]!.request
      assert.equal(`${method} ${url}`, `POST ${world.simulator.url}${format.path}${format.to}`)
      assert.deepEqual(body, calls.at(-1)?.body)
      assert.equal(headers[format.carrier], '…')
      assert.equal(headers['content-type'], 'application/json')
      assert.ok(headers.accept)
      for (const [header, value] of Object.entries(format.settings?.headers ?? {})) assert.equal(headers[header], value)
    })

    test('no secret is shown, wherever it was written', async () => {
      const parts = [format.apiKey, ...format.apiKey.split(':'), PEM.split('\n')[3]!]
      const leaky = { ...request, user: format.apiKey, messages: [{ role: 'user', content: `Say ${format.apiKey}!` }] }
      const file = await fileOf(leaky)
      for (const printed of [
        await told('provider', 'test', name, '--request', file),
        await told('provider', 'test', name, '--request', file, '--json'),
      ]) {
        for (const part of parts) assert.ok(!printed.includes(part), `${part} in ${printed}`)
        assert.doesNotMatch(printed, /Bearer|eyJ|AWS4-HMAC|Signature=/)
        assert.match(printed, /Say …!/)
      }
    })
  })
}

test('a key in a header or an address of its own is not shown either', async () => {
  const settings = {
    auth: { header: 'x-acme' },
    headers: { 'x-acme-token': 'another-1', 'x-copy': 'of sk-acme-0001' },
    query: { 'api-key': 'another-2', version: '7' },
  }
  await addProvider(world.store, world.secrets, 'acme', 'https://me:pass@acme.example/v1', {
    apiKey: 'sk-acme-0001',
    settings,
  })
  await told('model', 'add', 'acme-model', '--owned-by', 'us', '--input', '1', '--output', '2')
  await route('acme-model', 'acme', 'a')
  const file = await fileOf({ model: 'acme-model', messages: HELLO })
  const shown = (await asked('provider', 'test', 'acme', '--request', file)) as Document
  const { url, headers } = shown.routes[0]!.request
  assert.equal(url, 'https://…@acme.example/v1/chat/completions?api-key=…&version=7')
  assert.partialDeepStrictEqual(headers, { 'x-acme': '…', 'x-acme-token': '…', 'x-copy': '…' })
})

test('at Bedrock, too, what the caller says of thinking counts', async () => {
  const extra = { thinking: { type: 'enabled', budget_tokens: 2_000 } }
  await told('model', 'add', 'thinker', '--owned-by', 'us', '--input', '1', '--output', '2')
  const claude = 'anthropic.claude-sonnet-4-5-20250929-v1:0'
  await route('thinker', 'bedrock', claude, '--extra-body', JSON.stringify(extra))
  for (const [effort, budget] of [
    [undefined, 2_000],
    ['medium', 8_192],
  ] as const) {
    const body = { model: 'thinker', messages: HELLO, max_tokens: 20_000, reasoning_effort: effort }
    const shown = (await asked('provider', 'test', 'bedrock', '--request', await fileOf(body))) as Document
    const thinking = { type: 'enabled', budget_tokens: budget }
    assert.partialDeepStrictEqual(shown.routes[0]!.request.body, { additionalModelRequestFields: { thinking } })
  }
})

test('people are shown the request as it goes over the wire', async () => {
  const body = { model: 'openai-model', messages: HELLO, user: 'grace', prompt_cache_key: 'talk', temperature: 1 }
  const printed = await told('provider', 'test', 'openai', '--request', await fileOf(body))
  const [head, request, sent] = printed.split('\n\n')
  assert.match(String(head), /^Route [0-9a-f-]{36}: gpt at openai, with key default …0001\. Nothing was sent\.$/)
  assert.deepEqual(String(request).split('\n'), [
    `POST ${world.simulator.url}/v1/chat/completions`,
    'x-team: shop',
    'authorization: …',
    'content-type: application/json',
    'accept: text/event-stream',
    'accept-encoding: identity',
  ])
  assert.match(String(sent), /^ {2}"reasoning_effort": "none",$/m)
  const digests = fieldsIn(JSON.parse(String(sent)))
  assert.deepEqual([digests.user, digests.prompt_cache_key], ['…', '…'], 'only the places of digests are known')
})

test('what is unsupported and asks for nothing is left out, and a route that cannot honour a field says so', async () => {
  await told('model', 'add', 'plain', '--owned-by', 'us', '--input', '1', '--output', '2')
  await route('plain', 'openai', 'gpt', '--unsupported', 'temperature,json_schema')
  const shown = (await asked(
    'provider',
    'test',
    'openai',
    '--request',
    await fileOf({ model: 'plain', messages: HELLO, temperature: 1 }),
  )) as Document
  assert.ok(!('temperature' in fieldsIn(shown.routes[0]!.request.body)))
  const file = await fileOf({ model: 'plain', messages: HELLO, temperature: 0 })
  const { code, stdout } = await here(['provider', 'test', 'openai', '--request', file])
  assert.equal(code, 1)
  const sentence = 'temperature is not supported by this model.'
  assert.match(stdout, new RegExp(`would not be asked\\..* a caller gets 422 \\(invalid_value\\): ${sentence}`))
  await until(async () => {
    const response = await complete(world, { model: 'plain', messages: HELLO, temperature: 0 })
    return (await response.text()).includes(sentence) && response.status === 422
  })

  await route('plain', 'openai', 'other', '--position', '1')
  const both = await here(['provider', 'test', 'openai', '--request', file, '--json'])
  assert.equal(both.code, 0, 'one of its routes takes it')
  assert.partialDeepStrictEqual(JSON.parse(both.stdout), {
    routes: [
      { upstream_model: 'gpt', request: null, refusal: { status: 422, code: 'invalid_value', param: 'temperature' } },
      { upstream_model: 'other', refusal: null },
    ],
  })
})

test('a field that the wire format has no place for is refused as a caller would be', async () => {
  const body = { model: 'anthropic-model', messages: HELLO, seed: 1 }
  const { code, stdout } = await here(['provider', 'test', 'anthropic', '--request', await fileOf(body)])
  assert.equal(code, 1)
  assert.match(stdout, /422 \(invalid_value\): seed is not supported by this model\./)
})

const REFUSED: [what: string, body: unknown, status: number][] = [
  ['no JSON', '{', 400],
  ['a name twice', '{"model":"a","model":"b"}', 400],
  ['no object', '[]', 400],
  ['no messages', { model: 'openai-model' }, 400],
  ['a wrong value', { model: 'openai-model', messages: HELLO, temperature: 3 }, 422],
  ['a model that is not there', { model: 'nobody', messages: HELLO }, 422],
]

describe('what our own checks refuse is said as a caller is told, with exit code 1', () => {
  for (const [what, body, status] of REFUSED) {
    test(what, async () => {
      const { code, stdout } = await here(['provider', 'test', 'openai', '--request', await fileOf(body), '--json'])
      assert.equal(code, 1)
      const { refusal, routes } = JSON.parse(stdout) as { refusal: { message: string }; routes: unknown[] }
      assert.deepEqual(routes, [])
      const response = await complete(world, body)
      const { message } = (await response.json()) as { message: string }
      assert.equal(response.status, status)
      assert.partialDeepStrictEqual(refusal, { status })
      assert.equal(refusal.message, message)
      const people = await here(['provider', 'test', 'openai', '--request', await fileOf(body)])
      assert.match(people.stdout, new RegExp(`^No provider would be asked\\. A caller gets ${status} \\(`))
    })
  }
})

test('a key that its kind cannot use is a failure of the operator’s, and said to be one', async () => {
  const about = { kind: 'bedrock', apiKey: 'a:b:c:d', settings: { region: 'eu-west-1' } }
  await addProvider(world.store, world.secrets, 'broken', world.simulator.url, about)
  await told('model', 'add', 'broken-model', '--owned-by', 'us', '--input', '1', '--output', '2')
  await route('broken-model', 'broken', 'x')
  const file = await fileOf({ model: 'broken-model', messages: HELLO })
  const { code, stdout } = await here(['provider', 'test', 'broken', '--request', file])
  assert.equal(code, 1)
  assert.match(
    stdout,
    /502 \(upstream_failed\).*API key does not have the form that this kind of provider uses\. Set another/,
  )
})

test('a request is piped in, and mistakes say what to do', async () => {
  const { DATABASE_URL = '', PARLEY_SECRET = '' } = world.env
  const input = JSON.stringify({ model: 'openai-model', messages: HELLO })
  const options = { env: { DATABASE_URL, PARLEY_SECRET }, input }
  const piped = await parley(['provider', 'test', 'openai', '--request', '-'], options)
  assert.equal(piped.code, 0, piped.stderr)
  assert.match(piped.stdout, /"content": "Hello"/)
  const test = ['provider', 'test', 'openai', '--request']
  assert.match(await refused(...test, join(dir, 'none')), /none cannot be read. Check --request/)
  const file = await fileOf({ model: 'gemini-model', messages: HELLO })
  assert.match(
    await refused(...test, file),
    /No route of gemini-model leads to openai\. .*parley model route gemini-mod/,
  )
  const both = await parley([...test, file, '--upstream-model', 'x'], options)
  assert.equal(both.code, 2)
  assert.match(both.stderr, /'--request <file>' cannot be used with option '--upstream-model <name>'/)
})

test('an extra body is shown, logged, and read from a file', async () => {
  const extra = { provider: { order: ['a', 'b'] }, reasoning_effort: 'none' }
  await writeFile(join(dir, 'extra.json'), JSON.stringify(extra))
  await told('model', 'add', 'extra', '--owned-by', 'us', '--input', '1', '--output', '2')
  const to = ['model', 'route', 'extra', '--provider', 'openai', '--upstream-model', 'gpt']
  const added = await asked(...to, '--extra-body', `@${join(dir, 'extra.json')}`)
  assert.partialDeepStrictEqual(added, { extra_body: extra })
  const text = JSON.stringify(extra)
  assert.ok((await told(...to, '--extra-body', text, '--position', '1')).includes(`extra body      ${text}\n`))
  assert.partialDeepStrictEqual(await asked(...to, '--position', '2'), { extra_body: null })
  assert.match(await told('model', 'show', 'extra'), /  \{"provider": ?\{.*"reasoning_effort": ?"none"\}  /)
  const { routes } = (await asked('model', 'show', 'extra')) as { routes: { extra_body: unknown }[] }
  assert.deepEqual(
    routes.map(({ extra_body }) => extra_body),
    [extra, extra, null],
  )
  const entries = await world.store.db
    .selectFrom('audit_log')
    .select('details')
    .where('action', '=', 'model.route_added')
    .where('subject', '=', 'extra')
    .orderBy('seq')
    .execute()
  assert.deepEqual(
    entries.map(({ details }) => fieldsIn(details).extraBody),
    [extra, extra, undefined],
  )
})

test('an extra body that cannot be one is refused, and no route is added', async () => {
  const to = ['model', 'route', 'openai-model', '--provider', 'openai', '--upstream-model', 'gpt', '--extra-body']
  for (const wrong of ['[]', '"x"', 'reasoning_effort=none', 'null']) {
    assert.match(await refused(...to, wrong), /not a JSON object\. Write it like/)
  }
  assert.match(
    await refused(...to, '{"max_tokens":5}'),
    /must not set max_tokens: .*money hangs on it\. Leave it out\./,
  )
  assert.match(await refused(...to, `@${join(dir, 'none')}`), /none cannot be read\. Check --extra-body/)
  const { routes } = (await asked('model', 'show', 'openai-model')) as { routes: unknown[] }
  assert.equal(routes.length, 1)
})

test('user is no longer a field that routes differ in, and configurations that name it go on working', async () => {
  const price = { owned_by: 'us', input: '1', output: '2', unsupported_fields: ['user', 'seed'] }
  const file = join(dir, 'prices.json')
  await writeFile(file, JSON.stringify({ as_of: '2026-01-01', providers: { openai: { 'old-imported': price } } }))
  await told('model', 'import', '--file', file, '--yes')
  await told('model', 'add', 'old-routed', '--owned-by', 'us', '--input', '1', '--output', '2')
  assert.partialDeepStrictEqual(await route('old-routed', 'openai', 'gpt', '--unsupported', 'user,seed'), {
    unsupported: ['user', 'seed'],
  })
  const settings = { unsupportedFields: ['user'] }
  await addProvider(world.store, world.secrets, 'old', `${world.simulator.url}/v1`, { settings })
  await told('model', 'add', 'old-set', '--owned-by', 'us', '--input', '1', '--output', '2')
  await route('old-set', 'old', 'gpt')
  await told('provider', 'set', 'old', '--settings', JSON.stringify(settings))
  for (const model of ['old-imported', 'old-routed', 'old-set']) {
    await until(async () => {
      const response = await complete(world, { model, messages: HELLO, user: 'grace' })
      await response.arrayBuffer()
      return response.status === 200
    })
    assert.ok(!('user' in fieldsIn(world.simulator.calls.at(-1)?.body)), 'and what it names is not sent')
  }
})
