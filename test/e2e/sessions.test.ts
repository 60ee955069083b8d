import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import OpenAI from 'openai'
import { startGateway } from '../conformance/second-gateway.ts'
import { addProject, chatBody, createWorld, until, type TestProject, type World } from '../support/world.ts'

/** POST /v1/sessions and what browsers are told, as a publisher's developer meets them. */

const PAGE = 'https://app.example.com'

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

async function mint(project: TestProject, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${world.url}/v1/sessions`, {
    method: 'POST',
    headers: { ...project.headers, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { response, body: (await response.json()) as Record<string, unknown> }
}

test('a session says what it may: little where nothing is said, and what was asked for', async () => {
  const { id, secret_key, expires_at, ...rest } = (await mint(world.project)).body
  assert.match(String(secret_key), /^ply_es_00[0-9A-Za-z]{49}$/)
  assert.match(String(id), /^[0-9a-f-]{36}$/)
  assert.ok(Math.abs(Date.parse(String(expires_at)) - Date.now() - 900_000) < 10_000)
  const nothing = { origins: null, end_user: null, models: null, max_tokens: null }
  const little = { calls: 50, unit: 'nanos of a credit', money: '500000000' }
  assert.deepEqual(rest, { object: 'session', domain: 'example.com', ...nothing, ...little })
  const asked = {
    end_user: 'ada',
    models: ['sim-small'],
    max_tokens: 100,
    calls: 3,
    money: '1000',
    seconds: 3600,
    origins: ['https://app.example.com'],
  }
  const { body } = await mint(world.project, asked)
  const { seconds, ...echoed } = asked
  assert.partialDeepStrictEqual(body, echoed)
  assert.ok(Math.abs(Date.parse(String(body.expires_at)) - Date.now() - seconds * 1_000) < 10_000)
})

test('what is stored of it are bounds and a digest: neither the secret nor the end user’s id', async () => {
  const project = await addProject(world.store, world.secrets)
  const endUser = `someone-${project.id}`
  const { body } = await mint(project, { end_user: endUser }, { 'x-end-user-label': 'Ada' })
  const row = await world.store.db
    .selectFrom('browser_sessions')
    .selectAll()
    .where('id', '=', String(body.id))
    .executeTakeFirstOrThrow()
  const stored = JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
  assert.ok(!stored.includes(String(body.secret_key)) && !stored.includes(endUser))
  assert.equal(row.secret_last4, String(body.secret_key).slice(-4))
  assert.ok(!world.logs.some((line) => line.includes(String(body.secret_key)) || line.includes(endUser)))
  const seen = world.store.db.selectFrom('end_users').select(['id', 'label']).where('project_id', '=', project.id)
  await until(async () => (await seen.execute()).length === 1)
  assert.deepEqual(await seen.execute(), [{ id: row.end_user_id, label: 'Ada' }])
})

test('who may not call gets no session, and a wallet without credit is no reason', async () => {
  const unpaid = await addProject(world.store, world.secrets, { credits: '0' })
  assert.equal((await mint(unpaid)).response.status, 200)
  const unverified = await addProject(world.store, world.secrets, { isVerified: false })
  assert.equal((await mint(unverified)).response.status, 403)
  const inactive = await addProject(world.store, world.secrets, { isActivated: false })
  assert.equal((await mint(inactive)).response.status, 403)
  assert.equal((await mint({ ...world.project, headers: {} })).response.status, 401)
})

test('what is wrong with it is said with the name of the field', async () => {
  for (const [asked, sentence] of [
    [{ seconds: 7_200 }, 'seconds must be at most 3600.'],
    [{ money: 5 }, 'money must be nanos of a credit, as text: "250000000" is $0.25.'],
    [{ models: ['none'] }, 'models[0] is not available to this project. GET /v1/models lists the ones that are.'],
  ] as const) {
    const { response, body } = await mint(world.project, asked)
    assert.deepEqual([response.status, body.message], [422, sentence])
  }
  const headers = { ...world.project.headers, 'content-type': 'application/json' }
  const broken = await fetch(`${world.url}/v1/sessions`, { method: 'POST', headers, body: '{' })
  assert.equal(broken.status, 400)
  const get = await fetch(`${world.url}/v1/sessions`, { headers })
  assert.deepEqual([get.status, get.headers.get('allow')], [405, 'POST'])
})

test('one session alone cannot use up what the gateway gives its pair', async () => {
  const { body } = await mint(world.project)
  const headers = { 'x-publishable-key': world.project.publishableKey, 'x-secret-key': String(body.secret_key) }
  const ask = () => fetch(`${world.url}/v1/models`, { headers: { ...headers, origin: PAGE } })
  const statuses: number[] = []
  for (let n = 0; n < 160; n++) statuses.push((await ask()).status)
  assert.ok(statuses.filter((status) => status === 200).length >= 100)
  assert.ok(statuses.includes(429), 'a hundred at once, and ten a second')
  const pair = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
  assert.equal(pair.status, 200)
  const refused = await ask()
  if (refused.status === 429) assert.equal(refused.headers.get('access-control-allow-origin'), PAGE)
})

test('ten calls of a session run at the same time in a gateway, and an eleventh is told to retry', async () => {
  const { body } = await mint(world.project)
  const call = () =>
    fetch(`${world.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-publishable-key': world.project.publishableKey,
        'x-secret-key': String(body.secret_key),
        origin: PAGE,
        'content-type': 'application/json',
      },
      body: JSON.stringify(chatBody('tokens=5 ttft=1500')),
    })
  const statuses = await Promise.all(Array.from({ length: 14 }, async () => (await call()).status))
  assert.deepEqual(
    [statuses.filter((status) => status === 200).length, statuses.filter((status) => status === 429).length],
    [10, 4],
  )
  assert.equal((await call()).status, 200, 'and then there is room again')
})

test('while the secret of the installation is replaced, sessions made under either work', async () => {
  const both = `2:${randomBytes(32).toString('base64')},1:${world.env.PARLEY_SECRET}`
  const gateway = await startGateway(world, { PARLEY_SECRET: both })
  const modelsWith = (secret: unknown) =>
    fetch(`${gateway.url}/v1/models`, {
      headers: { 'x-publishable-key': world.project.publishableKey, 'x-secret-key': String(secret), origin: PAGE },
    })
  const before = await mint(world.project)
  assert.equal((await modelsWith(before.body.secret_key)).status, 200)
  const minted = await fetch(`${gateway.url}/v1/sessions`, { method: 'POST', headers: world.project.headers })
  const { id, secret_key } = (await minted.json()) as Record<string, string>
  assert.equal((await modelsWith(secret_key)).status, 200)
  const row = world.store.db.selectFrom('browser_sessions').select('secret_version').where('id', '=', String(id))
  assert.equal((await row.executeTakeFirstOrThrow()).secret_version, 2)
})

test('a session under a secret that this gateway lacks is told 503, and the log says which, and wrong ones of others 401', async () => {
  const project = await addProject(world.store, world.secrets)
  const other = await addProject(world.store, world.secrets)
  const { body } = await mint(project)
  const modelsWith = async (publishable: string, secret: string) => {
    const headers = { 'x-publishable-key': publishable, 'x-secret-key': secret, origin: PAGE }
    const response = await fetch(`${world.url}/v1/models`, { headers })
    return [response.status, response.headers.get('retry-after') !== null]
  }
  const known = String(body.secret_key)
  await sql`update browser_sessions set secret_version = 7, secret_digest = sha256(secret_digest)
    where id = ${String(body.id)}`.execute(world.store.db)
  assert.deepEqual(await modelsWith(project.publishableKey, known), [503, true])
  assert.deepEqual(await modelsWith(project.publishableKey, known), [503, true], 'and again')
  assert.ok(world.logs.some((line) => line.includes('"secretVersion":7') && line.includes('secret that is missing')))
  assert.deepEqual(await modelsWith(other.publishableKey, known), [401, false])
  const { body: mine } = await mint(project)
  assert.deepEqual(await modelsWith(project.publishableKey, String(mine.secret_key)), [200, false])
  await sql`update browser_sessions set expires_at = now() where id = ${String(body.id)}`.execute(world.store.db)
  const unknown = String((await mint(other)).body.secret_key)
  assert.deepEqual(await modelsWith(project.publishableKey, unknown), [401, false], 'when it is over')
})

/** Sends the request that a browser makes before a page's request with keys. */
function preflight(path: string, origin: string | undefined, more: Record<string, string> = {}): Promise<Response> {
  const headers = { 'access-control-request-method': 'POST', ...(origin !== undefined && { origin }), ...more }
  return fetch(world.url + path, { method: 'OPTIONS', headers })
}

test('a browser may ask for every https page before it sends keys, and is told what a page may send', async () => {
  const asked = 'authorization,content-type,x-stainless-arch,x-stainless-retry-count,x-evil,cookie'
  for (const path of ['/v1/chat/completions', '/v1/models']) {
    const response = await preflight(path, 'https://anyone.example', { 'access-control-request-headers': asked })
    assert.equal(response.status, 204)
    const { headers } = response
    assert.equal(headers.get('access-control-allow-origin'), 'https://anyone.example')
    assert.equal(headers.get('access-control-allow-methods'), path.endsWith('models') ? 'GET, HEAD' : 'POST')
    const allowed = headers.get('access-control-allow-headers')?.split(', ') ?? []
    for (const name of ['authorization', 'content-type', 'x-publishable-key', 'x-secret-key', 'x-conversation-id'])
      assert.ok(allowed.includes(name), name)
    for (const name of ['idempotency-key', 'x-end-user-id', 'x-stainless-arch', 'x-stainless-retry-count'])
      assert.ok(allowed.includes(name), name)
    assert.ok(!allowed.includes('x-evil') && !allowed.includes('cookie') && !allowed.includes('*'))
    assert.match(headers.get('vary') ?? '', /Origin/)
    assert.ok(Number(headers.get('access-control-max-age')) > 600)
    assert.equal(headers.get('access-control-allow-credentials'), null)
  }
})

test('preflights count for the rate of their network address', async () => {
  const { url } = await startGateway(world, { PARLEY_ADDRESS_REQUESTS_PER_SECOND: '1' })
  const headers = { origin: PAGE, 'access-control-request-method': 'POST' }
  const statuses: number[] = []
  for (let n = 0; n < 30; n++)
    statuses.push((await fetch(`${url}/v1/chat/completions`, { method: 'OPTIONS', headers })).status)
  assert.ok(statuses.filter((status) => status === 204).length >= 10)
  assert.ok(statuses.includes(429))
})

test('a page can read that its network address asks too often', async () => {
  const { url } = await startGateway(world, { PARLEY_ADDRESS_REQUESTS_PER_SECOND: '1' })
  const headers = { 'x-publishable-key': 'x', 'x-secret-key': `ply_es_${'0'.repeat(51)}`, origin: PAGE }
  for (let n = 0; n < 30; n++) {
    const response = await fetch(`${url}/v1/models`, { headers })
    assert.equal(response.headers.get('access-control-allow-origin'), PAGE)
    if (response.status === 429) return
  }
  assert.fail('it was never told 429')
})

test('other origins, and endpoints that no page may ask, are answered as if there were no sessions', async () => {
  for (const origin of [undefined, 'null', 'http://example.com', 'http://localhost:3000', 'https://EXAMPLE.com']) {
    const response = await preflight('/v1/chat/completions', origin)
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST'], String(origin))
    assert.equal(response.headers.get('access-control-allow-origin'), null)
  }
  for (const path of ['/v1/sessions', '/v1/credits', '/v1/receipts/x', '/none']) {
    const response = await preflight(path, PAGE)
    assert.ok([404, 405].includes(response.status), path)
    assert.deepEqual(
      [...response.headers.keys()].filter((name) => name.startsWith('access-control')),
      [],
    )
  }
  const plain = await fetch(`${world.url}/v1/models`, { method: 'OPTIONS', headers: { origin: PAGE } })
  assert.equal(plain.status, 405, 'no preflight')
})

test('the official SDK, as a page would use it, streams with a session’s secret', async () => {
  const { body } = await mint(world.project, { models: ['sim-small'], max_tokens: 20 })
  const client = new OpenAI({
    apiKey: `${world.project.publishableKey}:${String(body.secret_key)}`,
    baseURL: `${world.url}/v1`,
    defaultHeaders: { origin: PAGE },
    maxRetries: 0,
  })
  const stream = await client.chat.completions.create({
    model: 'sim-small',
    messages: [{ role: 'user', content: 'tokens=5' }],
    stream: true,
  })
  let text = ''
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  assert.ok(text.length > 0)
})
