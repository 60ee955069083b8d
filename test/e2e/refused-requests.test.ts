import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { KEY_PAIR_RANDOM_BYTES, keyPairFrom } from '../../src/rules/projects/keys.ts'
import { startCuttable, startGateway } from '../conformance/second-gateway.ts'
import { addProject, chatBody, complete, createWorld, until, type TestProject, type World } from '../support/world.ts'

/** Requests that are refused before they reach a model, from the socket to the row that their publisher sees. */

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

const randomPair = () => keyPairFrom(randomBytes(KEY_PAIR_RANDOM_BYTES), '00')

interface Sent {
  path?: string
  method?: string
  headers?: Record<string, string>
  body?: string
  url?: string
}

async function send(project: TestProject, { path = '/v1/chat/completions', method = 'POST', ...rest }: Sent = {}) {
  const headers = { ...project.headers, 'content-type': 'application/json', ...rest.headers }
  const sent = rest.body === undefined ? {} : { body: rest.body }
  const response = await fetch(`${rest.url ?? world.url}${path}`, { method, headers, ...sent })
  await response.arrayBuffer()
  return { status: response.status, id: String(response.headers.get('x-request-id')) }
}

async function refusedOf({ id }: TestProject) {
  const rows = world.store.db.selectFrom('refused_requests').selectAll().where('project_id', '=', id)
  return rows.orderBy('id').execute()
}

/** The rows of a project, once there are so many. */
async function noted(project: TestProject, count: number) {
  await until(async () => (await refusedOf(project)).length >= count)
  return refusedOf(project)
}

const json = (extra: Record<string, unknown>) => JSON.stringify(chatBody('tokens=1', extra))

test('what an integration stumbles over is noted with code, field, key and request id', async () => {
  const project = await addProject(world.store, world.secrets)
  const wrongSecret = { 'x-secret-key': randomPair().secret }
  const sent = [
    ['keys_invalid', 401, null, null, { headers: wrongSecret, body: json({}) }],
    ['keys_missing', 401, null, null, { headers: { 'x-secret-key': '' }, body: json({}) }],
    ['keys_invalid', 401, null, null, { headers: { 'x-secret-key': 'ply_sk_short' }, body: json({}) }],
    ['not_json_content', 415, null, null, { headers: { 'content-type': 'text/plain' }, body: 'hello' }],
    ['invalid_request', 400, null, null, { body: '{' }],
    ['invalid_value', 422, 'temperature', 'sim-small', { body: json({ temperature: 9 }) }],
    ['model_not_found', 422, 'model', 'gpt-nothing', { body: json({ model: 'gpt-nothing' }) }],
    ['not_found', 404, null, null, { path: '/v1/completions?trace=1', body: json({}) }],
    ['method_not_allowed', 405, null, null, { method: 'GET' }],
    ['no_such_model', 404, null, null, { method: 'GET', path: '/v1/models/nothing' }],
  ] as const
  const ids = new Map<string, readonly unknown[]>()
  for (const [code, status, param, model, request] of sent) {
    const answer = await send(project, request)
    assert.equal(answer.status, status, code)
    ids.set(answer.id, [code, status, param, model])
  }
  const rows = await noted(project, sent.length)
  assert.deepEqual(
    new Map(rows.map(({ id, code, status, param, model }) => [id, [code, status, param, model]])),
    new Map([...ids].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  )
  assert.deepEqual(
    new Set(rows.map(({ endpoint }) => endpoint)),
    new Set(['POST /v1/chat/completions', 'POST /v1/completions', 'GET /v1/chat/completions', 'GET /v1/models/*']),
  )
  assert.ok(rows.every(({ times, via_session: viaSession }) => times === 1n && !viaSession))
})

test('calls that reach a model are not noted, nor is what nobody owns', async () => {
  const project = await addProject(world.store, world.secrets)
  const countBefore = await countAll()
  assert.equal((await send(project, { body: json({ max_tokens: 2 }) })).status, 200)
  const stranger = randomPair()
  const keys = { 'x-publishable-key': stranger.publishable, 'x-secret-key': stranger.secret }
  assert.equal((await send(project, { headers: keys, body: json({}) })).status, 401)
  assert.equal((await send(project, { headers: { ...keys, 'x-secret-key': '' }, body: json({}) })).status, 401)
  assert.equal((await send(project, { headers: keys, path: '/v1/nothing' })).status, 404)
  // With a publishable key alone nobody writes into the list of its owner what only its owner could cause.
  const wrong = { 'x-secret-key': stranger.secret }
  assert.equal((await send(project, { headers: wrong, path: '/v1/nothing' })).status, 404)
  // This one is written by the same process, after the others.
  const witness = await addProject(world.store, world.secrets)
  await send(witness, { body: '{' })
  await noted(witness, 1)
  assert.deepEqual(await refusedOf(project), [])
  assert.equal(await countAll(), countBefore + 1)
})

async function countAll(): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from refused_requests`.execute(
    world.store.db,
  )
  return rows[0]?.count ?? 0
}

test('nothing of a body, a header or a secret is kept but the name of the model and of the field', async () => {
  const project = await addProject(world.store, world.secrets)
  const secret = randomPair().secret
  const content = 'my deepest secret'
  await send(project, { headers: { 'x-secret-key': secret }, body: json({ user: content }) })
  await send(project, { body: JSON.stringify({ model: 'sim-small', messages: [{ role: content, content }] }) })
  await send(project, { body: json({ temperature: content, 'x-conversation-id': content }) })
  const rows = await noted(project, 3)
  const text = JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
  for (const unwanted of [secret, content, project.secretKey]) assert.ok(!text.includes(unwanted), unwanted)
  assert.ok(text.includes('messages[0].role'))
})

test('a page with the secret of a session is told apart from the server, also when the session is over', async () => {
  const project = await addProject(world.store, world.secrets)
  const minted = await fetch(`${world.url}/v1/sessions`, { method: 'POST', headers: project.headers })
  const { id, secret_key: secret } = (await minted.json()) as Record<string, string>
  const page = { 'x-secret-key': String(secret), origin: 'https://example.com' }
  assert.equal((await send(project, { headers: page, body: json({ temperature: 9 }) })).status, 422)
  assert.equal((await send(project, { headers: page, method: 'GET', path: '/v1/credits' })).status, 403)
  const elsewhere = { ...page, origin: 'https://evil.example.net' }
  assert.equal((await send(project, { headers: elsewhere, body: json({}) })).status, 403)
  await sql`update browser_sessions set expires_at = now() where id = ${id}`.execute(world.store.db)
  await until(async () => (await send(project, { headers: page, body: json({}) })).status === 401)
  const rows = await noted(project, 4)
  assert.ok(rows.every(({ via_session: viaSession }) => viaSession))
  assert.deepEqual(
    new Set(rows.map(({ code }) => code)),
    new Set(['invalid_value', 'session_not_allowed', 'origin_not_allowed', 'session_over']),
  )
})

test('an inactive pair, an empty wallet and a limit are noted for the project whose they are', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  const answer = await complete(world, chatBody('tokens=1'), { project })
  await answer.arrayBuffer()
  assert.equal(answer.status, 403)
  await world.store.db.updateTable('key_pairs').set({ active: false }).where('project_id', '=', project.id).execute()
  await until(async () => (await send(project, { body: json({}) })).status === 401)
  const codes = new Set((await noted(project, 2)).map(({ code }) => code))
  assert.ok(codes.has('credit_insufficient') && codes.has('key_inactive'))
})

test('two gateways note a flood in a handful of rows, count every one, and answer it as before', async () => {
  const project = await addProject(world.store, world.secrets)
  const second = await startGateway(world)
  const flood = async (url: string) => {
    for (let n = 0; n < 150; n++)
      assert.equal((await send(project, { url, body: json({ temperature: 9 }) })).status, 422)
  }
  try {
    await Promise.all([flood(world.url), flood(second.url)])
    const total = async () => (await refusedOf(project)).reduce((sum, { times }) => sum + times, 0n)
    await until(async () => (await total()) === 300n)
  } finally {
    await second.stop()
  }
  // Two processes, and the flood may have seen two minutes.
  assert.ok((await refusedOf(project)).length <= 40)
})

test('while the database is away refusals are answered as before, given up and counted', async () => {
  const project = await addProject(world.store, world.secrets)
  const cut = await startCuttable(world)
  try {
    assert.equal((await send(project, { url: cut.url, method: 'GET', path: '/v1/models' })).status, 200)
    cut.relay.cut()
    for (let n = 0; n < 5; n++) assert.equal((await send(project, { url: cut.url, body: '{' })).status, 400)
    await until(async () => /parley_refused_dropped_total\{why="store"\} [1-9]/.test(await metricsOf(cut.opsUrl)))
  } finally {
    cut.relay.mend()
  }
  assert.deepEqual(await refusedOf(project), [])
})

async function metricsOf(opsUrl: string): Promise<string> {
  return (await fetch(`${opsUrl}/metrics`)).text()
}
