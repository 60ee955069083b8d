/** The specification's part 7 and the contract's rules for error bodies: what refusals look like, whatever refused. */
import assert from 'node:assert/strict'
import { STATUS_CODES } from 'node:http'
import { after } from 'node:test'
import { sql } from 'kysely'
import { APIError, OpenAI } from 'openai'
import { setKeyPairActive } from '../support/key-pairs.ts'
import { updateProject } from '../../src/store/projects/projects.ts'
import { addLoneModel, addProject, chatBody, createWorld, until } from '../support/world.ts'
import { clause } from './clause.ts'
import {
  ask,
  connectTo,
  listModels,
  minuteWithRoom,
  refused,
  requestText,
  send,
  stream,
  type Answer,
  type ErrorBody,
} from './client.ts'
import { startCuttable } from './second-gateway.ts'

const world = await createWorld()
const broken = await createWorld()
const cuttable = await startCuttable(world)
after(async () => {
  await world.close()
  await broken.close()
})

const valid = chatBody('tokens=2')
const json = { 'content-type': 'application/json', ...world.project.headers }
const path = '/v1/chat/completions'
const penniless = await addProject(world.store, world.secrets, { credits: '0' })
const unverified = await addProject(world.store, world.secrets, { isVerified: false })
const inactive = await addProject(world.store, world.secrets)
await setKeyPairActive(world.store.db, inactive.publishableKey, false)
const limited = await addProject(world.store, world.secrets)
await updateProject(world.store.db, limited.id, { tokens_per_minute: 1n })
await minuteWithRoom(10)
await ask(world, valid, { project: limited })
const mixed = { 'x-publishable-key': penniless.publishableKey }

/** One refusal of every kind. `headers` are sent beside what makes the request be refused. */
const refusals: [
  name: string,
  status: number,
  make: (headers: Record<string, string>) => Promise<Answer<ErrorBody>>,
][] = [
  ['invalid JSON', 400, (headers) => refused(world, '{"model"', { headers })],
  ['missing model', 400, (headers) => refused(world, { ...valid, model: undefined }, { headers })],
  ['missing keys', 401, (headers) => send(world, path, { method: 'POST', headers })],
  ['missing keys for models', 401, (headers) => send(world, '/v1/models', { headers })],
  ['mismatched keys', 401, (headers) => refused(world, valid, { headers: { ...headers, ...mixed } })],
  ['inactive keys', 401, (headers) => refused(world, valid, { headers, project: inactive })],
  ['unverified domain', 403, (headers) => refused(world, valid, { headers, project: unverified })],
  ['no credit', 403, (headers) => refused(world, valid, { headers, project: penniless })],
  [
    'no credit for a stream',
    403,
    (headers) => refused(world, { ...valid, stream: true }, { headers, project: penniless }),
  ],
  ['conversation id', 404, (headers) => refused(world, valid, { headers: { ...headers, 'x-conversation-id': '?' } })],
  ['path', 404, (headers) => send(world, '/v1/nothing', { headers })],
  ['malformed path', 404, (headers) => send(world, '/v1/%zz', { headers })],
  ['method', 405, (headers) => send(world, path, { method: 'DELETE', headers })],
  ['method on models', 405, (headers) => send(world, '/v1/models', { method: 'POST', headers })],
  ['too large', 413, (headers) => refused(world, ' '.repeat(8 * 1024 * 1024 + 1), { headers })],
  ['not JSON', 415, (headers) => refused(world, 'x', { headers: { ...headers, 'content-type': 'text/plain' } })],
  [
    'no content type',
    415,
    (headers) => send(world, path, { method: 'POST', headers: { ...world.project.headers, ...headers } }),
  ],
  ['unknown model', 422, (headers) => refused(world, { ...valid, model: 'nothing' }, { headers })],
  ['invalid value', 422, (headers) => refused(world, { ...valid, temperature: 3 }, { headers })],
  ['rate limit', 429, (headers) => refused(world, valid, { headers, project: limited })],
  ['unexpected', 500, (headers) => refused(broken, valid, { headers })],
  ['upstream', 502, (headers) => refused(world, chatBody('fault=U11-503'), { headers })],
  ['upstream of a stream', 502, (headers) => refused(world, chatBody('fault=U11-503', { stream: true }), { headers })],
  ['store away', 503, (headers) => refused(cuttable, valid, { headers })],
]
// Nothing foresees a missing table: the gateway must treat it as a defect of its own.
await sql`alter table key_pairs rename to key_pairs_gone`.execute(broken.store.db)
cuttable.relay.cut()
const plain = await collect({})
const openai = await collect({ 'x-error-format': 'openai' })

async function collect(headers: Record<string, string>) {
  const answers = []
  for (const [name, status, make] of refusals) answers.push({ name, expected: status, ...(await make(headers)) })
  return answers
}

function each(check: (answer: (typeof plain)[number]) => void): void {
  for (const answer of plain) check(answer)
}

clause('7-body', () =>
  each(({ name, expected, status, headers, body }) => {
    assert.equal(status, expected, name)
    assert.match(headers.get('content-type') ?? '', /^application\/json\b/, name)
    assert.equal(body.statusCode, status, name)
    assert.match(body.message, /\w+ \w+/, name)
    assert.equal(typeof body.error, 'string', name)
  }),
)

clause('bodies-error-exact', () =>
  each(({ name, status, body }) => {
    assert.deepEqual(Object.keys(body).toSorted(), ['error', 'message', 'statusCode'], name)
    assert.equal(body.error, STATUS_CODES[status], name)
  }),
)

/** Requests that Node or the framework would refuse by themselves, before any code of ours sees them. */
const unusual: [name: string, status: number, request: string][] = [
  ['that is not HTTP', 400, 'NONSENSE\r\n\r\n'],
  ['with too large headers', 431, requestText(world.project, '{}', { 'x-large': 'a'.repeat(20_000) })],
  ['without Host', 400, requestText(world.project, '{}', { connection: 'close' }).replace('host: parley.test\r\n', '')],
  ['with an unknown expectation', 400, requestText(world.project, '{}', { connection: 'close', expect: 'wonders' })],
]

for (const [name, expected, request] of unusual) {
  clause('bodies-error-exact', `also to a request ${name}`, async () => {
    const { status, text } = await rawAnswer(request)
    assert.equal(status, expected)
    const body = JSON.parse(text) as ErrorBody
    assert.deepEqual(Object.keys(body).toSorted(), ['error', 'message', 'statusCode'])
    assert.deepEqual([body.statusCode, body.error], [status, STATUS_CODES[status]])
  })
  clause('bodies-request-id', `also to a request ${name}`, async () =>
    assert.match((await rawAnswer(request)).head, /\r\nx-request-id: \S+/i),
  )
}

clause('bodies-error-names-field', async () => {
  const message = { role: 'user', content: 'Hello' }
  const cases: [status: number, field: string, body: Record<string, unknown>][] = [
    [400, 'model', { ...valid, model: undefined }],
    [400, 'model', { ...valid, model: '' }],
    [400, 'messages', { ...valid, messages: undefined }],
    [400, 'messages', { ...valid, messages: [] }],
    [422, 'messages[2].role', { ...valid, messages: [message, message, { role: 'robot', content: 'Hello' }] }],
    [422, 'messages[1].content', { ...valid, messages: [message, { role: 'user', content: 7 }] }],
    [422, 'messages[0].content', { ...valid, messages: [{ role: 'user' }] }],
    [
      422,
      'messages[0].content[0].text',
      { ...valid, messages: [{ role: 'user', content: [{ type: 'text', text: 1 }] }] },
    ],
    [422, 'temperature', { ...valid, temperature: 2.5 }],
    [422, 'top_p', { ...valid, top_p: -1 }],
    [422, 'max_tokens', { ...valid, max_tokens: 0 }],
    [422, 'stream', { ...valid, stream: 'yes' }],
    [422, 'n', { ...valid, n: 2 }],
    [422, 'stop', { ...valid, stop: 5 }],
    [422, 'tools[0].function.name', { ...valid, tools: [{ type: 'function', function: { name: '' } }] }],
    [422, 'model', { ...valid, model: 'nothing' }],
  ]
  for (const [status, field, body] of cases) {
    const answer = await refused(world, body)
    assert.equal(answer.status, status, field)
    assert.match(` ${answer.body.message}`, new RegExp(`\\s${RegExp.escape(field)}\\s`), field)
  }
})

clause('bodies-openai-format', () => {
  for (const { name, expected, status, body } of openai) {
    assert.equal(status, expected, name)
    assert.deepEqual(Object.keys(body).toSorted(), ['error', 'message', 'statusCode'], name)
    assert.equal(body.statusCode, status, name)
    const error = body.error as unknown as Record<string, unknown>
    assert.deepEqual(Object.keys(error).toSorted(), ['code', 'message', 'param', 'type'], name)
    assert.equal(error.message, body.message, name)
    assert.ok(typeof error.type === 'string' && typeof error.code === 'string', name)
    assert.ok(error.param === null || typeof error.param === 'string', name)
  }
})

clause('bodies-openai-sdk', async () => {
  const headers = { ...world.project.headers, 'x-error-format': 'openai' }
  const client = new OpenAI({ apiKey: 'unused', baseURL: `${world.url}/v1`, defaultHeaders: headers, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  await assert.rejects(
    client.chat.completions.create({ model: 'sim-small', temperature: 9, messages }),
    (error: unknown) => {
      assert.ok(error instanceof APIError)
      assert.equal(error.status, 422)
      assert.match(error.message, /temperature must be at most 2/)
      assert.equal(error.param, 'temperature')
      return true
    },
  )
})

clause('bodies-request-id', async () => {
  const refusals = [...plain, ...openai].filter(({ name }) => name !== 'malformed path')
  const answers = [...refusals, await ask(world, valid), await stream(world, valid), await listModels(world)]
  const ids = answers.map((answer) => {
    const id = answer.headers.get('x-request-id')
    assert.match(id ?? '', /^\S+$/, `${answer.status} ${answer.text.slice(0, 80)}`)
    return id
  })
  assert.equal(new Set(ids).size, ids.length, 'each its own')
})

clause('bodies-request-id', 'also to a path that cannot be decoded', async () => {
  assert.match((await send(world, '/v1/%zz')).headers.get('x-request-id') ?? '', /^\S+$/)
})

clause('bodies-request-id', 'also not modified', async () => {
  const etag = (await listModels(world)).headers.get('etag') ?? ''
  const { status, headers } = await listModels(world, { headers: { 'if-none-match': etag } })
  assert.equal(status, 304)
  assert.match(headers.get('x-request-id') ?? '', /^\S+$/)
})

clause('7-400-model', async () => assert.equal((await refused(world, { ...valid, model: undefined })).status, 400))
clause('7-400-messages', async () => assert.equal((await refused(world, { ...valid, messages: [] })).status, 400))

clause('7-400-json', async () => {
  for (const text of ['', '{', '{"model":"sim-small",}', "{'model':1}", 'undefined', '{"a":1}{"b":2}', '\u0000']) {
    assert.equal((await refused(world, text)).status, 400, text)
  }
})

clause('7-400-json', 'also of bytes that are not UTF-8', async () => {
  const body = Buffer.from(JSON.stringify(valid).replace('Hello', 'Hell\u00f6'), 'latin1')
  assert.equal((await send(world, path, { method: 'POST', headers: json, body })).status, 400)
})

const statusOf = (name: string) => plain.find((answer) => answer.name === name)?.status

clause('4.1-statuses', () => {
  const names = ['invalid JSON', 'missing keys', 'no credit', 'unexpected']
  assert.deepEqual(names.map(statusOf), [400, 401, 403, 500])
})

clause('7-401-missing', () => assert.equal(statusOf('missing keys'), 401))

clause('7-401-invalid', async () => {
  const headers = { 'x-publishable-key': 'nobody', 'x-secret-key': 'nothing' }
  assert.equal((await refused(world, valid, { headers })).status, 401)
})

clause('7-401-mismatch', () => assert.equal(statusOf('mismatched keys'), 401))
clause('7-401-inactive', () => assert.equal(statusOf('inactive keys'), 401))
clause('7-403-domain', () => assert.equal(statusOf('unverified domain'), 403))
clause('7-403-credit', () => assert.equal(statusOf('no credit'), 403))
clause('7-404-conversation', () => assert.equal(statusOf('conversation id'), 404))
clause('7-404-path', () => assert.equal(statusOf('path'), 404))
clause('7-422-model', () => assert.equal(statusOf('unknown model'), 422))

clause('7-422-values', async () => {
  const values = [{ temperature: 3 }, { temperature: 'hot' }, { top_p: 2 }, { max_tokens: 1.5 }, { stream: 'no' }]
  for (const value of values) {
    assert.equal((await refused(world, { ...valid, ...value })).status, 422, JSON.stringify(value))
  }
})

clause('7-unexpected-500', () => assert.equal(statusOf('unexpected'), 500))

clause('7-upstream-502', async () => {
  for (const fault of ['status=400', 'status=401', 'status=404', 'fault=U11-500', 'fault=U12-json']) {
    assert.equal((await refused(world, chatBody(fault, { model: await addLoneModel(world) }))).status, 502, fault)
  }
})

clause('7-unavailable-503', () => assert.equal(statusOf('store away'), 503))

async function rawAnswer(request: string): Promise<{ status: number; head: string; text: string }> {
  const connection = connectTo(world)
  connection.write(request)
  await until(() => connection.isClosed)
  const [head = '', text = ''] = connection.text.split('\r\n\r\n')
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]), head, text }
}
