import assert from 'node:assert/strict'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ANSWERS } from '../../src/rules/openapi/answers.ts'
import { CALL_ENDPOINTS } from '../../src/rules/endpoints.ts'
import { conversionKeyFrom } from '../../src/rules/clicks/conversions.ts'
import { textDigestOf } from '../../src/rules/text-digest.ts'
import { setConversionKey } from '../../src/store/recommendations/conversions.ts'
import { ROOT, run } from '../support/commands.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { DOCUMENT, operationsOf, wrongBy, type Documented } from '../support/openapi.ts'
import { addModel, createWorld, eventsOf, until, type World } from '../support/world.ts'

/** The description matches the answers: its examples are sent to a gateway, and a client generated from it works. */

let world: World
before(async () => {
  world = await createWorld({ roles: ['gateway', 'console'], env: { PARLEY_CONSOLE_PORT: '0' } })
  for (const id of ['parley-small', 'parley-large']) await addModel(world.store, { id, provider: 'simulator' })
  const { advertiserId } = await addOffer(world.store.db)
  await setConversionKey(world.store.db, advertiserId, textDigestOf(CONVERSION_KEY))
  await addModel(world.store, { id: 'parley-embedding', kind: 'embedding', provider: 'simulator' })
  await until(async () => {
    const models = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await models.text()).includes('parley-embedding')
  })
})
after(() => world.close())

/** An advertiser's key, for the requests that report conversions. */
const CONVERSION_KEY = conversionKeyFrom(Buffer.alloc(32, 1))

function send(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const json = { 'content-type': 'application/json' }
  return fetch(`${world.url}${path}`, {
    method: 'POST',
    headers: { ...keysFor(path), ...json, ...headers },
    body: JSON.stringify(body),
  })
}

function keysFor(path: string): Record<string, string> {
  return path === '/v1/conversions' ? { authorization: `Bearer ${CONVERSION_KEY}` } : world.project.headers
}

/** By the schema that is served, and by the one that it was made from, which knows every field. */
function expectDocumented(name: string, answer: unknown): void {
  assert.deepEqual(wrongBy(name, answer), [])
  const strict = ANSWERS[name as keyof typeof ANSWERS].safeParse(answer)
  assert.deepEqual(strict.error?.issues ?? [], [], name)
}

function schemaNameOf(key: string): string {
  const [method = '', path = ''] = key.split(' ')
  const { schema } = DOCUMENT.paths[path]?.[method.toLowerCase()]?.responses['200']?.content['application/json'] ?? {}
  return String(String(schema?.$ref).split('/').at(-1))
}

function expectHeaders(key: string, { headers }: Response): void {
  const [method = '', path = ''] = key.split(' ')
  const named = DOCUMENT.paths[path]?.[method.toLowerCase()]?.responses['200']?.headers ?? {}
  const sent = [...headers.keys()].filter((name) => /^x-(?!accel)|^idempotent/.test(name))
  for (const name of sent) assert.ok(name in named, `${key}: ${name}`)
  assert.ok(sent.includes('x-request-id'))
}

let completionId = ''

for (const [key, { requestBody }] of operationsOf(DOCUMENT)) {
  const [, path = ''] = key.split(' ')
  for (const [name, { value }] of Object.entries(requestBody?.content['application/json'].examples ?? {})) {
    test(`${key}: the example "${name}" is answered as described`, async () => {
      const answer = await send(path, value)
      const text = await answer.text()
      assert.equal(answer.status, 200, text)
      expectHeaders(key, answer)
      completionId = path === CALL_ENDPOINTS.chat.path ? (answer.headers.get('x-completion-id') ?? '') : completionId
      if ((value as { stream?: boolean }).stream !== true) return expectDocumented(schemaNameOf(key), JSON.parse(text))
      assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/)
      const events = eventsOf(text)
      if (path === CALL_ENDPOINTS.chat.path) {
        assert.equal(events.pop(), '[DONE]')
        for (const data of events) expectDocumented('ChatCompletionChunk', JSON.parse(data))
        assert.ok(JSON.parse(events.at(-1) ?? '').usage)
      } else {
        const last = JSON.parse(events.at(-1) ?? '')
        assert.equal(last.type, 'response.completed')
        expectDocumented('Response', last.response)
      }
    })
  }
}

test('what is read is answered as described', async () => {
  const paths = {
    'GET /v1/models': '/v1/models',
    'GET /v1/models/{id}': '/v1/models/parley-small',
    'GET /v1/credits': '/v1/credits',
    'GET /v1/receipts/{completion_id}': `/v1/receipts/${completionId}`,
  }
  const read = operationsOf(DOCUMENT).filter(([key]) => key.startsWith('GET '))
  assert.deepEqual(
    read.map(([key]) => key),
    Object.keys(paths),
  )
  for (const [key, path] of Object.entries(paths)) {
    const answer = await fetch(`${world.url}${path}`, { headers: world.project.headers })
    assert.equal(answer.status, 200, key)
    expectHeaders(key, answer)
    expectDocumented(schemaNameOf(key), await answer.json())
  }
})

test('answers that have more in them are described, too', async () => {
  const said = (script: string) => [{ role: 'user', content: `Hello [[sim ${script}]]` }]
  for (const script of ['tool=weather', 'thoughts=First%20I%20think', 'finish=length']) {
    const tools = [{ type: 'function', function: { name: 'weather' } }]
    const more = script.startsWith('tool') ? { tools } : {}
    const body = { model: 'parley-small', messages: said(script), ...more }
    const whole = await send('/v1/chat/completions', body)
    expectDocumented('ChatCompletion', await whole.json())
    const stream = await send('/v1/chat/completions', { ...body, stream: true })
    for (const data of eventsOf(await stream.text()).slice(0, -1))
      expectDocumented('ChatCompletionChunk', JSON.parse(data))
  }
})

test('errors are described in both of their shapes', async () => {
  const wrong = { model: 'parley-small', messages: [{ role: 'nobody', content: 'x' }] }
  const plain = await (await send('/v1/chat/completions', wrong)).json()
  expectDocumented('Error', plain)
  const asked = await send('/v1/chat/completions', wrong, { 'x-error-format': 'openai' })
  expectDocumented('OpenAIError', await asked.json())
  for (const body of [plain]) assert.deepEqual(wrongBy('AnyError', body), [])
})

test('the gateway and the console serve the same, without keys, compressed, and to be kept', async () => {
  const { consoleUrl = '' } = world.running
  const texts = await Promise.all(
    [world.url, consoleUrl].map(async (origin) => {
      const answer = await fetch(`${origin}/openapi.json`)
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('content-encoding'), 'gzip')
      assert.equal(answer.headers.get('cache-control'), 'public, max-age=600')
      const again = await fetch(`${origin}/openapi.json`, {
        headers: { 'if-none-match': String(answer.headers.get('etag')) },
      })
      assert.equal(again.status, 304)
      return answer.text()
    }),
  )
  assert.equal(texts[0], texts[1])
  const served = JSON.parse(texts[0] ?? '') as Documented
  assert.deepEqual(served.paths, DOCUMENT.paths)
  assert.equal((await fetch(`${world.url}/openapi.json`, { method: 'HEAD' })).status, 200)
  const posted = await fetch(`${world.url}/openapi.json`, { method: 'POST' })
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
})

test('whoever opens the gateway itself is told where to read on', async () => {
  const answer = await fetch(`${world.url}/`)
  const body = (await answer.json()) as { message: string }
  expectDocumented('Error', body)
  assert.equal(answer.status, 404)
  assert.match(body.message, /^This is Parley, .* http:\/\/\S+\/docs, .* http:\/\/\S+\/openapi\.json\.$/)
})

const CLIENT = `import type { components, paths } from './parley.d.ts'

type Ask = paths['/v1/chat/completions']['post']
const body: Ask['requestBody']['content']['application/json'] = {
  model: 'parley-small',
  messages: [{ role: 'user', content: 'Hello [[sim text=made]]' }],
  max_tokens: 50,
}
// @ts-expect-error: a role that there is not
const wrong: typeof body = { model: 'parley-small', messages: [{ role: 'nobody', content: 'x' }] }
const headers: NonNullable<Ask['parameters']['header']> = { 'x-conversation-id': 'a-conversation' }
const { PARLEY_URL, PARLEY_PUBLISHABLE_KEY, PARLEY_SECRET_KEY } = process.env as Record<string, string>
const response = await fetch(\`\${PARLEY_URL}/v1/chat/completions\`, {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    'x-publishable-key': String(PARLEY_PUBLISHABLE_KEY),
    'x-secret-key': String(PARLEY_SECRET_KEY),
    ...headers,
  },
  body: JSON.stringify(body),
})
const answer = (await response.json()) as Ask['responses']['200']['content']['application/json']
const usage: components['schemas']['ChatCompletion']['usage'] = answer.usage
console.log(answer.choices[0]?.message.content, usage.total_tokens > 0, wrong.model)
`

test('a client that is generated from it compiles, and completes a call', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-openapi-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
  await writeFile(join(folder, 'openapi.json'), await (await fetch(`${world.url}/openapi.json`)).text())
  await writeFile(join(folder, 'client.ts'), CLIENT)
  const options = { strict: true, noUncheckedIndexedAccess: true, noEmit: true, module: 'nodenext', target: 'es2024' }
  const compilerOptions = { ...options, allowImportingTsExtensions: true, types: ['node'] }
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['client.ts', 'parley.d.ts'] }),
  )
  const bin = join(ROOT, 'node_modules/.bin')
  const { publishableKey, secretKey } = world.project
  const env = { PARLEY_URL: world.url, PARLEY_PUBLISHABLE_KEY: publishableKey, PARLEY_SECRET_KEY: secretKey }
  for (const [command, args] of [
    [`${bin}/openapi-typescript`, ['openapi.json', '--output', 'parley.d.ts']],
    [`${bin}/tsc`, ['-p', '.']],
  ] as const) {
    const { code, stdout, stderr } = await run(command, args, { cwd: folder, withinMs: 60_000 })
    assert.equal(code, 0, `${stdout}\n${stderr}`)
  }
  const { stdout, stderr } = await run('node', ['client.ts'], { cwd: folder, env, withinMs: 30_000 })
  assert.equal(stdout.trim(), 'made true parley-small', stderr)
})
