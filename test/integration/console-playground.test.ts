import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { playgroundPairOf } from '../../src/actions/projects/playground-keys.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { ERRORS } from '../../src/rules/errors.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { withTenant } from '../../src/store/tenancy.ts'
import {
  createConsoleWorld,
  must,
  newPerson,
  newProject,
  ORIGIN,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { freePort } from '../support/free-port.ts'
import { credit, eventsOf, until } from '../support/world.ts'

let world: ConsoleWorld
before(async () => {
  const port = String(await freePort())
  const env = { PARLEY_PORT: port, PARLEY_GATEWAY_INTERNAL_URL: `http://127.0.0.1:${port}` }
  world = await createConsoleWorld({ env: { ...env, PARLEY_PUBLIC_URL: 'https://gateway.example.com' } })
})
after(() => world.close())

async function readyProject(person: Person): Promise<string> {
  const project = await newProject(person)
  await setDomainVerified(world.store.db, project, new Date())
  await credit(world.store, project, 1_000_000_000n)
  return project
}

function asking(content: string, changes: object = {}) {
  return { body: { model: 'sim-small', messages: [{ role: 'user', content }], ...changes } }
}

function playgroundKeys(project: string) {
  return world.store.db.selectFrom('key_pairs').selectAll().where('project_id', '=', project).execute()
}

test('an answer is streamed from the real gateway, charged to the project, and logged under the name Playground', async () => {
  const person = await newPerson(world)
  const project = await readyProject(person)
  const answer = await person.send(
    `POST /api/projects/${project}/playground`,
    asking('[[sim text=Hi%20there chunk=1]]'),
  )
  assert.equal(answer.status, 200)
  assert.match(String(answer.headers.get('content-type')), /^text\/event-stream/)
  const events = eventsOf(answer.text)
  assert.equal(events.at(-1), '[DONE]')
  const chunks = events.slice(0, -1).map((data) => JSON.parse(data))
  assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'Hi there')
  const { usage } = chunks.at(-1)
  const { body: call } = await person.send(`GET /api/projects/${project}/calls/${chunks[0].id}`)
  assert.deepEqual([call.keyName, call.tokens.output], ['Playground', usage.completion_tokens])
  const wallet = await person.send(`GET /api/projects/${project}/home`)
  assert.equal(BigInt(wallet.body.balanceNanos), 1_000_000_000n - BigInt(call.chargedNanos))
})

test('an answer that is not to be streamed comes as one event, and all settings reach the model', async () => {
  const person = await newPerson(world)
  const project = await readyProject(person)
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: '[[sim text=Hi]]' },
  ]
  const body = { model: 'sim-small', messages, stream: false, temperature: 0.3, maxTokens: 50 }
  const { text } = await person.send(`POST /api/projects/${project}/playground`, { body })
  const [completion, ...more] = eventsOf(text)
  assert.equal(JSON.parse(String(completion)).choices[0].message.content, 'Hi')
  assert.deepEqual(more, [])
  const sent = world.simulator.calls.at(-1)?.body as Record<string, unknown>
  assert.deepEqual(
    [sent.messages, sent.temperature, sent.max_tokens ?? sent.max_completion_tokens],
    [messages, 0.3, 50],
  )
})

test('a temperature of 0 reaches the model and is in the code, and one that is not set is in neither', async () => {
  const person = await newPerson(world)
  const project = await readyProject(person)
  const messages = [{ role: 'user', content: '[[sim text=Hi]]' }]
  for (const [temperature, expected] of [
    [0, 0],
    [null, undefined],
  ]) {
    const body = { model: 'sim-small', messages, stream: false, temperature }
    await must(person.send(`POST /api/projects/${project}/playground`, { body }))
    const sent = world.simulator.calls.at(-1)?.body as Record<string, unknown>
    assert.equal(sent.temperature, expected)
    const code = await must(person.send(`POST /api/projects/${project}/playground/code`, { body }))
    for (const { id, text } of code.body.items)
      assert.equal(/temperature\W+0\b/.test(text), expected === 0, `${id}: ${text}`)
  }
})

test('what the gateway refuses is told in its own words: not activated, not verified, no credit, no such model', async () => {
  const person = await newPerson(world, { confirms: false })
  const project = await newProject(person)
  const { db } = world.store
  const refusal = async (model = 'sim-small') => {
    const { text } = await person.send(`POST /api/projects/${project}/playground`, asking('Hello', { model }))
    const { error } = JSON.parse(eventsOf(text)[0] ?? '{}')
    assert.match(error.requestId, /^[0-9a-f-]{36}$/)
    return [error.code, error.message, error.status]
  }
  const expected = (code: keyof typeof ERRORS) => [code, ERRORS[code].message, ERRORS[code].status]
  // A gateway believes what it has read for two seconds. Asked now and then: a person's changes are limited per minute.
  const untilRefused = (code: keyof typeof ERRORS, model?: string) =>
    until(async () => {
      await sleep(250)
      return (await refusal(model))[0] === code
    }, 8_000)
  assert.deepEqual(await refusal(), expected('account_not_activated'))
  await db.updateTable('publishers').set({ activated_at: new Date() }).where('id', '=', person.publisherId).execute()
  await untilRefused('domain_not_verified')
  assert.deepEqual(await refusal(), expected('domain_not_verified'))
  await setDomainVerified(db, project, new Date())
  await untilRefused('credit_insufficient')
  assert.deepEqual(await refusal(), expected('credit_insufficient'))
  await credit(world.store, project, 1_000_000_000n)
  await untilRefused('model_not_found', 'nothing')
})

test('when the browser goes away the gateway stops at once: before the first chunk, and midway', async () => {
  const person = await newPerson(world)
  const project = await readyProject(person)
  for (const script of ['ttft=60000', 'tokens=1000 gap=50']) {
    const hangUp = new AbortController()
    const response = fetch(`${world.consoleUrl}/api/projects/${project}/playground`, {
      method: 'POST',
      headers: {
        origin: ORIGIN,
        cookie: [...person.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        'content-type': 'application/json',
      },
      body: JSON.stringify(asking(`[[sim ${script}]]`).body),
      signal: hangUp.signal,
    })
    response.catch(() => undefined)
    await until(() => world.simulator.openCalls() === 1)
    hangUp.abort()
    await until(() => world.simulator.openCalls() === 0, 1_000)
  }
})

/** For a lock that another transaction holds. */
async function isSomebodyWaiting(): Promise<boolean> {
  const { rows } = await sql<{ waiting: number }>`
    select count(*)::int as waiting from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(world.store.db)
  return (rows[0]?.waiting ?? 0) > 0
}

test('the pair is nobody’s to see or change, is shared by all consoles, and is made anew in place before it ends', async () => {
  const person = await newPerson(world)
  const project = await readyProject(person)
  const tenant = { publisherId: person.publisherId, projectId: project }
  const { secrets } = world
  const keys = { projectId: project, secrets, cell: '00' }
  const pairAt = (nowMs: number, others = secrets) =>
    withTenant(world.store.tenants, tenant, (tx) => playgroundPairOf(tx, { ...keys, secrets: others, nowMs }))
  const now = Date.now()
  let second: ReturnType<typeof pairAt> | undefined
  const first = await withTenant(world.store.tenants, tenant, async (tx) => {
    const pair = await playgroundPairOf(tx, { ...keys, nowMs: now })
    second = pairAt(now + 5)
    await until(isSomebodyWaiting)
    return pair
  })
  const pairs = [first, await second, await pairAt(now + 60_000)] as const
  assert.deepEqual([pairs[1], pairs[2]], [first, first], 'whoever comes first makes it')
  const [row, ...others] = await playgroundKeys(project)
  assert.deepEqual(others, [])
  assert.equal(row?.expires_at?.getTime(), now + 3_600_000)
  assert.equal(JSON.stringify(row).includes(pairs[0].secret), false)

  assert.deepEqual(await pairAt(now + 2_999_999), first, 'ten minutes and a moment are left')
  const later = await pairAt(now + 3_000_000)
  assert.notEqual(later.secret, pairs[0].secret)
  const [renewed, ...more] = await playgroundKeys(project)
  assert.deepEqual([renewed?.id, renewed?.publishable_key, more], [row?.id, later.publishable, []])
  const root = { version: 1, bytes: Buffer.from(String(world.env.PARLEY_SECRET), 'base64') }
  const swapped = createSecrets([{ version: 2, bytes: Buffer.alloc(32, 7) }, root])
  assert.deepEqual(await pairAt(now + 3_000_001, swapped), later, 'a console that has another secret first keeps it')
  const rotated = createSecrets([{ version: 2, bytes: Buffer.alloc(32, 7) }])
  assert.notEqual((await pairAt(now + 3_000_001, rotated)).secret, later.secret, 'a new root secret makes a new pair')

  assert.deepEqual((await person.send(`GET /api/projects/${project}/keys`)).body.items, [])
  const { id } = row
  assert.equal((await person.send(`DELETE /api/projects/${project}/keys/${id}`)).status, 404)
  assert.equal(
    (await person.send(`PATCH /api/projects/${project}/keys/${id}`, { body: { active: false } })).status,
    404,
  )
  assert.equal((await person.send(`POST /api/projects/${project}/keys/${id}/roll`, { body: {} })).status, 404)
})

test('a stranger, a viewer and a body that is wrong or too large ask no model', async () => {
  const owner = await newPerson(world)
  const project = await readyProject(owner)
  const path = `POST /api/projects/${project}/playground`
  const before = world.simulator.calls.length
  const viewer = await newPerson(world)
  assert.equal((await viewer.send(path, asking('Hello'))).status, 404)
  const { body: me } = await viewer.send('GET /api/me')
  const member = { publisher_id: owner.publisherId, user_id: me.user.id, role: 'viewer' }
  await world.store.db.insertInto('memberships').values(member).execute()
  assert.equal((await viewer.send(path, asking('Hello'))).status, 403)
  const wrong = await owner.send(path, { body: { model: 'sim-small', messages: [], temperature: 3 } })
  assert.deepEqual(
    wrong.body.fields.map((field: { path: string }) => field.path),
    ['messages', 'temperature'],
  )
  assert.equal((await owner.send(path, asking('x'.repeat(70_000)))).status, 413)
  assert.equal(world.simulator.calls.length, before)
  assert.deepEqual(await playgroundKeys(project), [])
})

test('the code of a request names the public address, and reads the keys from the environment', async () => {
  const person = await newPerson(world)
  const project = await newProject(person)
  const { body } = await person.send(`POST /api/projects/${project}/playground/code`, asking('Say "it\'s me"'))
  assert.deepEqual(
    body.items.map(({ id }: { id: string }) => id),
    ['curl', 'node', 'python'],
  )
  for (const { id, text } of body.items) {
    assert.match(text, /https:\/\/gateway\.example\.com\/v1\b/, id)
    assert.match(text, /PARLEY_SECRET_KEY/, id)
  }
  assert.doesNotMatch(JSON.stringify(body), /ply_[ps]k_/)
})
