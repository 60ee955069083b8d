/** The contract's part on browser sessions. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { chatBody, createWorld } from '../support/world.ts'
import { clause } from './clause.ts'
import { ask, send } from './client.ts'

const world = await createWorld()
after(() => world.close())

const json = { 'content-type': 'application/json' }
const page = { origin: 'https://www.example.com' }

function mint(body: Record<string, unknown> = {}) {
  return send<Record<string, unknown>>(world, '/v1/sessions', {
    method: 'POST',
    headers: { ...json, ...world.project.headers },
    body: JSON.stringify(body),
  })
}

async function keysOfSession(body: Record<string, unknown> = {}): Promise<Record<string, string>> {
  const minted = await mint(body)
  return { 'x-publishable-key': world.project.publishableKey, 'x-secret-key': String(minted.body.secret_key) }
}

const callWith = (keys: Record<string, string>, extra: Record<string, unknown> = {}, headers = {}) =>
  ask(world, chatBody('tokens=3', { max_tokens: 5, ...extra }), { headers: { ...keys, ...page, ...headers } })

clause('sessions-mint', async () => {
  const { status, body } = await mint({
    end_user: 'ada',
    calls: 2,
    money: '5000000',
    max_tokens: 9,
    models: ['sim-small'],
  })
  assert.equal(status, 200)
  assert.match(String(body.secret_key), /^ply_es_/)
  assert.ok(Date.parse(String(body.expires_at)) > Date.now())
  const may = { end_user: 'ada', calls: 2, money: '5000000', max_tokens: 9, models: ['sim-small'], origins: null }
  assert.partialDeepStrictEqual(body, may)
})

clause('sessions-fields', async () => {
  for (const wrong of [
    { seconds: 3_601 },
    { money: 1 },
    { models: ['none'] },
    { origins: ['https://x.com'] },
    { cals: 1 },
  ])
    assert.equal((await mint(wrong)).status, 422, JSON.stringify(wrong))
})

clause('sessions-works', async () => {
  const keys = await keysOfSession()
  for (const origin of ['https://example.com', 'https://a.b.example.com'])
    assert.equal((await callWith(keys, {}, { origin })).status, 200, origin)
})

clause('sessions-origin-403', async () => {
  const keys = await keysOfSession()
  const others = [
    'http://example.com',
    'null',
    'https://evilexample.com',
    'https://example.com.evil.com',
    'https://example.com:8443',
  ]
  for (const origin of others) assert.equal((await callWith(keys, {}, { origin })).status, 403, origin)
  assert.equal((await send(world, '/v1/models', { headers: keys })).status, 403)
})

clause('sessions-endpoints-403', async () => {
  const headers = { ...(await keysOfSession()), ...page }
  assert.equal((await send(world, '/v1/models', { headers })).status, 200)
  assert.equal((await send(world, '/v1/credits', { headers })).status, 403)
  assert.equal((await send(world, '/v1/receipts/chatcmpl-x', { headers })).status, 403)
  assert.equal((await send(world, '/v1/sessions', { method: 'POST', headers })).status, 403)
})

clause('sessions-over-401', async () => {
  const keys = await keysOfSession({ seconds: 1 })
  await sleep(1_100)
  assert.equal((await callWith(keys)).status, 401)
})

clause('sessions-bounds-422', async () => {
  const keys = await keysOfSession({ models: ['sim-small'], max_tokens: 5, end_user: 'ada' })
  assert.equal((await callWith(keys, { model: 'sim-large' })).status, 422)
  assert.equal((await callWith(keys, { max_tokens: 6 })).status, 422)
  assert.equal((await callWith(keys, {}, { 'x-end-user-id': 'bob' })).status, 422)
  assert.equal((await callWith(keys)).status, 200)
})

clause('sessions-used-up-403', async () => {
  const once = await keysOfSession({ calls: 1 })
  assert.deepEqual([(await callWith(once)).status, (await callWith(once)).status], [200, 403])
  assert.equal((await callWith(await keysOfSession({ money: '1' }))).status, 403)
})

clause('sessions-preflight', async () => {
  const asked = { origin: 'https://anyone.example', 'access-control-request-method': 'POST' }
  const { status, headers } = await send(world, '/v1/chat/completions', { method: 'OPTIONS', headers: asked })
  assert.deepEqual([status, headers.get('access-control-allow-origin')], [204, 'https://anyone.example'])
})

clause('sessions-cors', async () => {
  const keys = await keysOfSession()
  assert.equal((await callWith(keys)).headers.get('access-control-allow-origin'), page.origin)
  assert.equal((await callWith(world.project.headers)).headers.get('access-control-allow-origin'), null)
})
