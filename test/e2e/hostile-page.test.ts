import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { createKeyPair, deleteKeyPair, rollKeyPair, setKeyPairActive } from '../../src/actions/projects/key-pairs.ts'
import { NO_LIMITS, replaceLimits } from '../../src/store/billing/limits.ts'
import {
  addModel,
  addProject,
  chatBody,
  complete,
  createWorld,
  until,
  type TestProject,
  type World,
} from '../support/world.ts'

/** The secret of a browser session in hostile hands: a page of somebody else, a script without a page, a reader of this page. */

const PAGE = 'https://app.example.com'
const OPERATOR = { kind: 'operator', id: 'test', reason: 'test' } as const

let world: World
before(async () => {
  const most = { PARLEY_SESSION_REQUESTS_PER_SECOND: '100000', PARLEY_SESSION_CALLS_AT_ONCE: '100000' }
  world = await createWorld({ env: { ...most, PARLEY_KEY_PAIR_REQUESTS_PER_SECOND: '100000' } })
  await addModel(world.store, { id: 'sim-large', provider: 'simulator' })
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes('sim-large')
  })
})
after(() => world.close())

interface Minted {
  id: string
  secret_key: string
  expires_at: string
}

async function mintFor(project: TestProject, body: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
  const response = await fetch(`${world.url}/v1/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...project.headers, ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Minted & { message?: string } }
}

/** A session, and what a page does with it. */
async function sessionOf(project: TestProject, asked: Record<string, unknown> = {}) {
  const { status, body } = await mintFor(project, asked)
  assert.equal(status, 200, body.message)
  const keys = { 'x-publishable-key': project.publishableKey, 'x-secret-key': body.secret_key }
  const ask = async (path: string, init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {}) => {
    const headers = { ...keys, origin: PAGE, ...init.headers }
    const response = await fetch(world.url + path, { ...init, headers })
    const text = await response.text()
    const { message } = (text.startsWith('{') ? JSON.parse(text) : {}) as { message?: string }
    return { status: response.status, headers: response.headers, message, text }
  }
  return {
    ...body,
    publishable: project.publishableKey,
    ask,
    call: (headers: Record<string, string> = {}, extra: Record<string, unknown> = {}) =>
      ask('/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(chatBody('tokens=3', { max_tokens: 5, ...extra })),
      }),
  }
}

const newProject = (credits = '1000') => addProject(world.store, world.secrets, { credits })

async function chargedTo(project: TestProject): Promise<bigint> {
  const { rows } = await sql<{ sum: bigint | null }>`
    select sum(charged_nanos)::int8 as sum from charges where project_id = ${project.id}`.execute(world.store.db)
  return rows[0]?.sum ?? 0n
}

async function pairOf(project: TestProject): Promise<string> {
  const { id } = await world.store.db
    .selectFrom('key_pairs')
    .select('id')
    .where('publishable_key', '=', project.publishableKey)
    .executeTakeFirstOrThrow()
  return id
}

function atHand(project: TestProject) {
  return { id: project.id, name: 'Test Project', publisherId: project.publisherId }
}

const installation = () => ({ secrets: world.secrets, cell: '00', consoleUrl: 'https://console.example' })

test('a session answers calls and lists models from a page of the verified domain, and its answers can be read there', async () => {
  const session = await sessionOf(await newProject())
  for (const origin of ['https://example.com', PAGE]) {
    const { status, headers } = await session.call({ origin })
    assert.equal(status, 200)
    assert.equal(headers.get('access-control-allow-origin'), origin)
    assert.match(headers.get('vary') ?? '', /origin/i)
    assert.equal(headers.get('access-control-allow-credentials'), null)
    assert.match(headers.get('access-control-expose-headers') ?? '', /x-completion-id/)
    assert.ok(headers.get('x-completion-id'))
  }
  const streamed = await session.call({}, { stream: true })
  assert.match(streamed.text, /data: \[DONE\]/)
  assert.equal(streamed.headers.get('access-control-allow-origin'), PAGE)
  assert.equal((await session.ask('/v1/models')).headers.get('cache-control'), 'private, no-store')
  const pair = `Bearer ${session.publishable}:${session.secret_key}`
  const bearer = await fetch(`${world.url}/v1/models`, { headers: { authorization: pair, origin: PAGE } })
  assert.deepEqual([bearer.status, bearer.headers.get('access-control-allow-origin')], [200, PAGE])
})

test('other pages, and whoever is no page, are refused with 403 and a sentence that names both', async () => {
  const session = await sessionOf(await newProject())
  const origins = [
    'https://evil.com',
    'https://evilexample.com',
    'https://example.com.evil.com',
    'https://app.example.com:8443',
  ]
  for (const origin of origins) {
    const { status, message, headers } = await session.call({ origin })
    assert.equal(status, 403, origin)
    assert.ok(message?.startsWith(origin), message)
    assert.equal(headers.get('access-control-allow-origin'), origin, 'its developer can read why')
  }
  assert.match(
    (await session.call({ origin: 'https://evil.com' })).message ?? '',
    /is not on example\.com, the verified domain/,
  )
  for (const origin of ['null', 'http://example.com', 'http://localhost:3000', 'https://EXAMPLE.com', '']) {
    const { status, headers } = await session.call({ origin })
    assert.equal(status, 403, origin)
    assert.equal(headers.get('access-control-allow-origin'), null)
  }
  const keys = { 'x-publishable-key': '', 'x-secret-key': session.secret_key }
  const { headers: own } = await newProject()
  const bare = await fetch(`${world.url}/v1/models`, { headers: { ...own, 'x-secret-key': keys['x-secret-key'] } })
  assert.equal(bare.status, 401, 'beside the publishable key of another pair')
  assert.equal((await session.ask('/v1/models', { headers: { origin: 'https://evil.com' } })).status, 403)
})

test('origins narrow a session further, and open no other site', async () => {
  const project = await newProject()
  const session = await sessionOf(project, { origins: ['https://app.example.com', 'https://dev.example.com:8443'] })
  assert.equal((await session.call({ origin: 'https://app.example.com' })).status, 200)
  assert.equal((await session.call({ origin: 'https://dev.example.com:8443' })).status, 200)
  assert.equal((await session.call({ origin: 'https://example.com' })).status, 403)
  for (const origin of ['https://evil.com', 'http://example.com', 'https://example.com/', 'example.com', '*', 'null']) {
    const { status, body } = await mintFor(project, { origins: ['https://example.com', origin] })
    assert.equal(status, 422, origin)
    assert.match(body.message ?? '', /^origins\[1\] must be an https origin on example\.com, the verified domain/)
  }
  // The domain may change while a session lives.
  await world.store.db
    .updateTable('domains')
    .set({ name: 'other.example' })
    .where('project_id', '=', project.id)
    .execute()
  await until(async () => (await session.call({ origin: 'https://app.example.com' })).status === 403)
})

test('after its time it is refused, by the ledger too, which does not ask the gateway’s memory', async () => {
  const project = await newProject()
  const session = await sessionOf(project, { seconds: 1 })
  await new Promise((resolve) => setTimeout(resolve, 1_050))
  const over = await session.call()
  assert.deepEqual([over.status, over.headers.get('access-control-allow-origin')], [401, PAGE])
  assert.match(over.message ?? '', /^This session has ended\./)

  const ended = await sessionOf(project)
  assert.equal((await ended.call()).status, 200, 'the gateway knows it now, for two seconds')
  await world.store.db
    .updateTable('browser_sessions')
    .set({ expires_at: sql`now()` })
    .where('id', '=', ended.id)
    .execute()
  const { status, message } = await ended.call()
  assert.deepEqual(
    [status, message],
    [401, 'This session has ended. Have your server create another one: POST /v1/sessions.'],
  )
})

test('a thousand parallel calls never charge more than its money, and a call more than that finds nothing left', async () => {
  const project = await newProject()
  const one = await sessionOf(project)
  assert.equal((await one.call()).status, 200)
  const price = await chargedTo(project)
  const money = price * 40n + price / 2n
  const session = await sessionOf(project, { money: money.toString(), calls: 10_000 })
  const before = await chargedTo(project)
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => session.call()))
  const statuses = Map.groupBy(answers, ({ status }) => status)
  assert.deepEqual(new Set(statuses.keys()), new Set([200, 403]))
  const spent = (await chargedTo(project)) - before
  assert.ok(spent <= money, `${spent} of ${money}`)
  assert.ok((statuses.get(200)?.length ?? 0) > 0)
  const messages = new Set(statuses.get(403)?.map(({ message }) => message))
  for (const message of messages) assert.match(message ?? '', /session's money is (?:held|used up)/)
  // The money left pays for less than a call of this size.
  let last = await session.call()
  for (let n = 0; last.status === 200 && n < 60; n++) last = await session.call()
  assert.equal(last.status, 403)
  assert.ok((await chargedTo(project)) - before <= money)
  assert.equal((await one.call()).status, 200, 'another session of the pair has its own')
})

test('a thousand parallel calls are never more than its calls, and refused ones do not count', async () => {
  const project = await newProject()
  const session = await sessionOf(project, { calls: 7 })
  assert.equal((await session.call({}, { model: 'none' })).status, 422)
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => session.call()))
  assert.equal(answers.filter(({ status }) => status === 200).length, 7)
  assert.equal(
    answers.find(({ status }) => status === 403)?.message,
    'This session has made all of its calls. Have your server create another one.',
  )
})

test('other models than its own are not there, and one that the project loses is lost to it', async () => {
  const project = await newProject()
  const session = await sessionOf(project, { models: ['sim-small'] })
  const listed = JSON.parse((await session.ask('/v1/models')).text) as { data: { id: string }[] }
  assert.deepEqual(
    listed.data.map(({ id }) => id),
    ['sim-small'],
  )
  assert.equal((await session.call({}, { model: 'sim-large' })).status, 422)
  assert.equal((await session.call()).status, 200)
  const { status, body } = await mintFor(project, { models: ['sim-small', 'gpt-none'] })
  assert.deepEqual([status, body.message?.slice(0, 9)], [422, 'models[1]'])
  await world.store.db
    .updateTable('projects')
    .set({ allowed_models: ['sim-large'] })
    .where('id', '=', project.id)
    .execute()
  await until(async () => (await session.call()).status === 422)
  assert.equal((await session.call({}, { model: 'sim-large' })).status, 422)
  const all = await sessionOf(project)
  assert.equal((await all.call({}, { model: 'sim-large' })).status, 200)
})

test('max_tokens bounds each call, said or not', async () => {
  const session = await sessionOf(await newProject(), { max_tokens: 10 })
  const more = await session.call({}, { max_tokens: 11 })
  assert.deepEqual([more.status, more.message], [422, 'max_tokens must be at most 10 in this session.'])
  assert.equal((await session.call({}, { max_tokens: undefined, max_completion_tokens: 11 })).status, 422)
  assert.equal((await session.call({}, { max_tokens: 10 })).status, 200)
  const unsaid = await session.call({}, { ...chatBody('tokens=50'), max_tokens: undefined })
  assert.equal(unsaid.status, 200)
  const { usage } = JSON.parse(unsaid.text) as { usage: { completion_tokens: number } }
  assert.equal(usage.completion_tokens, 10)
})

test('when its pair ends, the session ends: deactivated, rolled, deleted, and the project and its domain', async () => {
  const ends: Record<string, (project: TestProject) => Promise<unknown>> = {
    deactivated: async (project) => {
      const input = { project: atHand(project), keyId: await pairOf(project), isActive: false }
      return world.store.db.transaction().execute((tx) => setKeyPairActive(tx, OPERATOR, input))
    },
    rolled: async (project) => {
      const input = {
        project: atHand(project),
        keyId: await pairOf(project),
        overlapSeconds: 0,
        installation: installation(),
      }
      return world.store.db.transaction().execute((tx) => rollKeyPair(tx, OPERATOR, input))
    },
    deleted: async (project) => {
      const input = { project: atHand(project), keyId: await pairOf(project), installation: installation() }
      return world.store.db.transaction().execute((tx) => deleteKeyPair(tx, OPERATOR, input))
    },
    archived: (project) =>
      world.store.db.updateTable('projects').set({ archived_at: new Date() }).where('id', '=', project.id).execute(),
    'not activated': (project) =>
      world.store.db
        .updateTable('publishers')
        .set({ activated_at: null })
        .where('id', '=', project.publisherId)
        .execute(),
    unverified: (project) =>
      world.store.db.updateTable('domains').set({ verified_at: null }).where('project_id', '=', project.id).execute(),
  }
  for (const [what, end] of Object.entries(ends)) {
    const project = await newProject()
    const session = await sessionOf(project)
    assert.equal((await session.call()).status, 200, 'the gateway knows it now, for two seconds')
    await end(project)
    const { status } = await session.call()
    assert.ok(status === 401 || status === 403, `${what}: ${status}`)
    await until(async () => [401, 403].includes((await session.ask('/v1/models')).status))
    assert.ok([401, 403].includes((await mintFor(project)).status), `${what}: no other one is made`)
  }
})

test('in the overlap of a rolled pair its sessions live as the pair does, and never longer', async () => {
  const project = await newProject()
  const keyId = await pairOf(project)
  const session = await sessionOf(project, { seconds: 600 })
  const input = { project: atHand(project), keyId, overlapSeconds: 30, installation: installation() }
  const { oldEndsAt } = await world.store.db.transaction().execute((tx) => rollKeyPair(tx, OPERATOR, input))
  assert.equal((await session.call()).status, 200)
  const late = await sessionOf(project, { seconds: 600 })
  assert.equal(late.expires_at, oldEndsAt.toISOString())
  await world.store.db
    .updateTable('key_pairs')
    .set({ expires_at: sql`now()` })
    .where('id', '=', keyId)
    .execute()
  assert.equal((await session.call()).status, 401)
})

test('receipts, credits, other sessions and all else that is not said are refused', async () => {
  const session = await sessionOf(await newProject())
  const called = await session.call()
  const completion = called.headers.get('x-completion-id')
  for (const [path, method] of [
    [`/v1/receipts/${completion}`, 'GET'],
    ['/v1/credits', 'GET'],
    ['/v1/sessions', 'POST'],
  ] as const) {
    const { status, message } = await session.ask(path, { method })
    assert.equal(status, 403, path)
    assert.match(message ?? '', /^The secret of a session is only for calls and GET \/v1\/models\./)
  }
})

test('a session is for its end user, whatever the page says, and one for nobody cannot be made somebody’s', async () => {
  const project = await newProject()
  await replaceLimits(
    world.store.db,
    { scope: 'end_users', subject: project.id, publisherId: project.publisherId, projectId: project.id },
    { ...NO_LIMITS, requests_per_minute: 2 },
  )
  const session = await sessionOf(project, { end_user: 'ada' })
  assert.equal((await session.call({ 'x-end-user-id': 'bob' })).status, 422)
  assert.equal((await session.call({ 'x-end-user-id': 'ada' })).status, 200)
  assert.equal((await session.call({}, { user: 'bob', safety_identifier: 'carol' })).status, 200)
  assert.equal((await session.call()).status, 429, 'all of them were ada’s')
  const nobody = await sessionOf(project)
  assert.equal((await nobody.call({ 'x-end-user-id': 'ada' })).status, 422)
  assert.equal((await nobody.call({}, { user: 'ada' })).status, 200)
  const users = await world.store.db
    .selectFrom('calls')
    .select('end_user_id')
    .distinct()
    .where('project_id', '=', project.id)
    .execute()
  assert.equal(users.length, 2, 'ada and nobody')
})

test('an Idempotency-Key is the session’s own: another session, or the server, gets no answer of it', async () => {
  const project = await newProject()
  const [one, other] = [await sessionOf(project), await sessionOf(project)]
  const key = { 'idempotency-key': 'the-same' }
  const first = await one.call(key)
  assert.equal(first.status, 200, first.message)
  const id = first.headers.get('x-completion-id')
  const again = await one.call(key)
  assert.deepEqual([again.headers.get('idempotent-replayed'), again.headers.get('x-completion-id')], ['true', id])
  assert.equal((await other.call(key)).headers.get('idempotent-replayed'), null)
  const server = await complete(world, chatBody('tokens=3', { max_tokens: 5 }), { project, headers: key })
  assert.deepEqual([server.status, server.headers.get('idempotent-replayed')], [200, null])
  await world.store.db
    .updateTable('browser_sessions')
    .set({ expires_at: sql`now()` })
    .where('id', '=', one.id)
    .execute()
  assert.equal((await one.call(key)).status, 401, 'nothing is replayed after its time')
})

test('made-up, altered and foreign secrets are refused in one way', async () => {
  const [project, other] = [await newProject(), await newProject()]
  const session = await sessionOf(project)
  const foreign = await sessionOf(other)
  const secrets = [
    foreign.secret_key,
    `${session.secret_key.slice(0, -1)}${session.secret_key.endsWith('x') ? 'y' : 'x'}`,
    'ply_es_',
    session.secret_key.replace('ply_es_', 'ply_sk_'),
  ]
  for (const secret of secrets) {
    const response = await fetch(`${world.url}/v1/models`, {
      headers: { 'x-publishable-key': project.publishableKey, 'x-secret-key': secret, origin: PAGE },
    })
    assert.equal(response.status, 401, secret)
    assert.match(await response.text(), /The key pair is not valid/)
    const isSession = secret.startsWith('ply_es_')
    assert.equal(response.headers.get('access-control-allow-origin'), isSession ? PAGE : null)
  }
  assert.ok(!world.logs.some((line) => line.includes(session.secret_key)), 'no secret is in the log')
})

test('nothing that a long-lived secret asks has a CORS header', async () => {
  const project = await newProject()
  for (const headers of [{ origin: PAGE }, { origin: 'https://evil.com' }]) {
    for (const path of ['/v1/models', '/v1/credits', '/v1/receipts/x']) {
      const response = await fetch(world.url + path, { headers: { ...project.headers, ...headers } })
      assert.deepEqual(
        [...response.headers.keys()].filter((name) => name.startsWith('access-control')),
        [],
      )
    }
    const minted = await fetch(`${world.url}/v1/sessions`, {
      method: 'POST',
      headers: { ...project.headers, ...headers },
    })
    assert.equal(minted.status, 200)
    assert.equal(minted.headers.get('access-control-allow-origin'), null)
    assert.equal(minted.headers.get('cache-control'), 'private, no-store')
  }
})

test('a new pair of the same name cannot use the sessions of another pair of its project', async () => {
  const project = await newProject()
  const session = await sessionOf(project)
  const input = { project: atHand(project), name: 'second', expiresInDays: null, installation: installation() }
  const second = await world.store.db.transaction().execute((tx) => createKeyPair(tx, OPERATOR, input))
  const response = await fetch(`${world.url}/v1/models`, {
    headers: { 'x-publishable-key': second.publishableKey, 'x-secret-key': session.secret_key, origin: PAGE },
  })
  assert.equal(response.status, 401)
})
