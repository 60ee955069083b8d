import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { createLastUsed } from '../../src/gateway/gateway.ts'
import { createLog } from '../../src/platform/log.ts'
import { serve, type Running } from '../../src/serve.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { DAY_MS } from '../../src/rules/durations.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'
import { chatBody, complete, credit, rollUp, until, untilReady } from '../support/world.ts'

let world: ConsoleWorld
/** A second gateway on the same store. */
let other: Running

before(async () => {
  world = await createConsoleWorld({ env: { PARLEY_PUBLIC_URL: 'https://gateway.example.com', PARLEY_CELL: 'z9' } })
  other = await serve(readConfig(world.env), ['gateway'], createLog('silent'))
  await untilReady(other.opsUrl)
})
after(async () => {
  await other.stop()
  await world.close()
})

interface Site {
  person: Person
  project: string
  path: string
}

async function newSite(options: { isVerified?: boolean } = {}): Promise<Site> {
  const person = await newPerson(world)
  const project = await newProject(person)
  if (options.isVerified ?? true) await setDomainVerified(world.store.db, project, new Date())
  await credit(world.store, project, 10_000_000_000n)
  return { person, project, path: `/api/projects/${project}/keys` }
}

async function create({ person, path }: Site, name = 'web', expiresInDays: number | null = null) {
  return (await must(person.send(`POST ${path}`, { body: { name, expiresInDays } }))).body
}

interface Pair {
  publishableKey: string
  secretKey: string
}

const headersOf = (pair: Pair) => ({ 'x-publishable-key': pair.publishableKey, 'x-secret-key': pair.secretKey })
const call = async (pair: Pair) => (await complete(world, chatBody('tokens=1'), { headers: headersOf(pair) })).status
const models = (pair: Pair, url: string) => fetch(`${url}/v1/models`, { headers: headersOf(pair) })
const list = async ({ person, path }: Site) => (await must(person.send(`GET ${path}`))).body.items

test('a new pair is shown once, works at once, and its secret is in no other answer, mail, log line or row', async () => {
  const site = await newSite()
  const answer = await must(site.person.send(`POST ${site.path}`, { body: { name: ' Web server ' } }))
  const pair = answer.body
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.match(pair.publishableKey, /^ply_pk_z9/)
  assert.match(pair.secretKey, /^ply_sk_z9/)
  assert.deepEqual(
    [pair.name, pair.gatewayUrl, pair.model, pair.oldEndsAt],
    ['Web server', 'https://gateway.example.com', 'sim-small', null],
  )
  assert.equal(await call(pair), 200)

  const { text, body } = await must(site.person.send(`GET ${site.path}`))
  const [listed] = body.items
  assert.equal(listed.secretHint, `ply_sk_z9…${pair.secretKey.slice(-4)}`)
  assert.deepEqual(
    [listed.name, listed.publishableKey, listed.status, listed.createdBy, listed.expiresAt],
    ['Web server', pair.publishableKey, 'active', site.person.name, null],
  )
  await until(
    () => world.mails.some(({ to, text: mail }) => to === site.person.email && mail.includes('"Web server"')),
    15_000,
  )
  const { text: log } = await must(site.person.send(`GET /api/publishers/${site.person.publisherId}/audit-log`))
  assert.match(log, /key\.created/)
  const rows = JSON.stringify(
    await world.store.db.selectFrom('key_pairs').selectAll().where('id', '=', pair.id).execute(),
  )
  const everything = [text, log, rows, ...world.logs, ...world.mails.map(({ raw, text: mail }) => raw + mail)]
  assert.ok(!everything.some((part) => part.includes(pair.secretKey)))
})

test('a pair is made only for an activated account with a verified domain', async () => {
  const site = await newSite({ isVerified: false })
  const unverified = await site.person.send(`POST ${site.path}`, { body: { name: 'web' } })
  assert.deepEqual([unverified.status, /Domain page/.test(unverified.body.message)], [403, true])
  await setDomainVerified(world.store.db, site.project, new Date())
  await world.store.db
    .updateTable('publishers')
    .set({ activated_at: null })
    .where('id', '=', site.person.publisherId)
    .execute()
  const inactive = await site.person.send(`POST ${site.path}`, { body: { name: 'web' } })
  assert.deepEqual([inactive.status, /account is not active\./.test(inactive.body.message)], [403, true])
})

test('a name and an expiry that make no sense are refused beside their fields', async () => {
  const site = await newSite()
  const wrong: [object, string][] = [
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{}, 'name'],
    [{ name: 'a', expiresInDays: 0 }, 'expiresInDays'],
    [{ name: 'a', expiresInDays: 1.5 }, 'expiresInDays'],
  ]
  for (const [body, path] of wrong) {
    const answer = await site.person.send(`POST ${site.path}`, { body })
    assert.deepEqual([answer.status, answer.body.fields?.[0]?.path], [422, path])
  }
})

test('a stranger reaches no pair, and who may only look changes none', async () => {
  const site = await newSite()
  const pair = await create(site)
  const stranger = await newPerson(world)
  const changes: [string, unknown][] = [
    [`POST ${site.path}`, { name: 'x' }],
    [`POST ${site.path}/${pair.id}/roll`, { overlapSeconds: 0 }],
    [`POST ${site.path}/${pair.id}/end`, undefined],
    [`PATCH ${site.path}/${pair.id}`, { active: false }],
    [`DELETE ${site.path}/${pair.id}`, undefined],
  ]
  for (const [key, body] of changes) assert.equal((await stranger.send(key, { body })).status, 404, key)
  // Also not through a project of their own.
  const own = await newProject(stranger)
  assert.equal((await stranger.send(`DELETE /api/projects/${own}/keys/${pair.id}`)).status, 404)
  await world.store.db
    .updateTable('memberships')
    .set({ role: 'viewer' })
    .where('publisher_id', '=', site.person.publisherId)
    .execute()
  for (const [key, body] of changes) assert.equal((await site.person.send(key, { body })).status, 403, key)
  assert.equal(await call(pair), 200)
})

test('after a roll both pairs work until the overlap is over, and then the old one is refused', async () => {
  const site = await newSite()
  const old = await create(site, 'web', 30)
  const { body: fresh } = await must(
    site.person.send(`POST ${site.path}/${old.id}/roll`, { body: { overlapSeconds: 2 } }),
  )
  assert.equal(fresh.name, 'web')
  assert.notEqual(fresh.secretKey, old.secretKey)
  assert.equal(await call(fresh), 200)
  const [newest, oldest] = await list(site)
  assert.deepEqual([newest.id, newest.status, newest.replacedBy], [fresh.id, 'active', null])
  assert.deepEqual([oldest.id, oldest.replacedBy, oldest.expiresAt], [old.id, fresh.id, fresh.oldEndsAt])
  // As long as the old pair was meant to last; the store and the console read the clock a moment apart.
  const lifetime = Date.parse(newest.expiresAt) - Date.parse(newest.createdAt)
  assert.ok(Math.abs(lifetime - 30 * 86_400_000) < 5_000, `${lifetime}`)
  await until(async () => (await call(old)) === 401, 15_000)
  assert.ok(Date.now() >= Date.parse(fresh.oldEndsAt) - 50)
  assert.equal(await call(fresh), 200)
  assert.equal((await list(site))[1].status, 'expired')
  await until(() => world.mails.some(({ to, text }) => to === site.person.email && text.includes('replaced')), 15_000)
})

test('the overlap is a day unless said otherwise, never longer than the old pair had, and can be ended', async () => {
  const site = await newSite()
  const old = await create(site)
  const beganMs = Date.now()
  const { body: fresh } = await must(site.person.send(`POST ${site.path}/${old.id}/roll`, { body: {} }))
  const endsMs = Date.parse(fresh.oldEndsAt) - 86_400_000
  assert.ok(endsMs >= beganMs && endsMs <= Date.now(), fresh.oldEndsAt)
  assert.equal((await list(site))[1].status, 'ending')
  assert.equal((await site.person.send(`POST ${site.path}/${fresh.id}/end`)).status, 409)
  await must(site.person.send(`POST ${site.path}/${old.id}/end`))
  assert.equal(await call(old), 401)
  const log = await must(site.person.send(`GET /api/publishers/${site.person.publisherId}/audit-log?action=key.ended`))
  assert.deepEqual(
    log.body.items.map(({ subject, projectId, details }: Record<string, unknown>) => [subject, projectId, details]),
    [['web', site.project, { key: old.publishableKey, last4: old.secretKey.slice(-4) }]],
  )

  const short = await create(site, 'short', 1)
  const [{ expiresAt: shortEndsAt }] = await list(site)
  const { body: rolled } = await must(
    site.person.send(`POST ${site.path}/${short.id}/roll`, { body: { overlapSeconds: 604_800 } }),
  )
  assert.equal(rolled.oldEndsAt, shortEndsAt)
  assert.equal(
    (await site.person.send(`POST ${site.path}/${fresh.id}/roll`, { body: { overlapSeconds: 604_801 } })).status,
    422,
  )
})

test('a pair that takes the place of another lasts as long as that was meant to, however little of it was left', async () => {
  const site = await newSite()
  const old = await create(site, 'web', 30)
  const beganMs = Date.now()
  const lastDay = { created_at: new Date(beganMs - 29 * DAY_MS), expires_at: new Date(beganMs + DAY_MS) }
  await world.store.db.updateTable('key_pairs').set(lastDay).where('id', '=', old.id).execute()
  await must(site.person.send(`POST ${site.path}/${old.id}/roll`, { body: {} }))
  const [{ expiresAt }] = await list(site)
  const fromMs = Date.parse(expiresAt) - 30 * DAY_MS
  assert.ok(fromMs >= beganMs && fromMs <= Date.now(), expiresAt)
})

test('a pair is rolled once, also by two people at the same time, and not when it is inactive', async () => {
  const site = await newSite()
  const old = await create(site)
  const body = { overlapSeconds: 60 }
  const answers = await Promise.all([1, 2, 3].map(() => site.person.send(`POST ${site.path}/${old.id}/roll`, { body })))
  assert.deepEqual(answers.map(({ status }) => String(status)).toSorted(), ['200', '409', '409'])
  assert.equal((await list(site)).length, 2)
  const sleeping = await create(site, 'sleeping')
  await must(site.person.send(`PATCH ${site.path}/${sleeping.id}`, { body: { active: false } }))
  const refused = await site.person.send(`POST ${site.path}/${sleeping.id}/roll`, { body })
  assert.deepEqual([refused.status, /inactive/.test(refused.body.message)], [409, true])
})

test('a deactivated pair is refused by every gateway within two seconds, and works again when activated', async (t) => {
  const site = await newSite()
  const pair = await create(site)
  const gateways = [world.url, String(other.url)]
  // Both know the pair now, and know it as active.
  for (const url of gateways) assert.equal((await models(pair, url)).status, 200)
  await must(site.person.send(`PATCH ${site.path}/${pair.id}`, { body: { active: false } }))
  const startedMs = performance.now()
  assert.equal(await call(pair), 401)
  // Requests that cost nothing are answered from a gateway's memory, which is at most two seconds old.
  const tookMs = await Promise.all(
    gateways.map(async (url) => {
      await until(async () => (await models(pair, url)).status === 401, 10_000)
      return performance.now() - startedMs
    }),
  )
  t.diagnostic(`refused after ${tookMs.map((ms) => Math.round(ms)).join(' and ')} ms`)
  // The rest is for the test's own requests on a busy machine.
  assert.ok(Math.max(...tookMs) < 3_500, String(tookMs))
  assert.equal((await list(site))[0].status, 'inactive')
  await must(site.person.send(`PATCH ${site.path}/${pair.id}`, { body: { active: true } }))
  for (const url of gateways) await until(async () => (await models(pair, url)).status === 200)
  assert.equal(await call(pair), 200)
})

test('a deleted pair is refused like one that never was, is in no list, and old calls keep its name', async () => {
  const site = await newSite()
  const pair = await create(site, 'short lived')
  assert.equal(await call(pair), 200)
  await must(site.person.send(`DELETE ${site.path}/${pair.id}`))
  await until(async () => {
    const response = await models(pair, world.url)
    const { message } = (await response.json()) as { message?: string }
    return response.status === 401 && /not valid/.test(String(message))
  })
  assert.deepEqual(await list(site), [])
  for (const key of [`DELETE ${site.path}/${pair.id}`, `POST ${site.path}/${pair.id}/end`])
    assert.equal((await site.person.send(key)).status, 404)
  assert.equal((await site.person.send(`PATCH ${site.path}/${pair.id}`, { body: { active: true } })).status, 404)
  const row = await world.store.db.selectFrom('key_pairs').select('name').where('id', '=', pair.id).executeTakeFirst()
  assert.equal(row?.name, 'short lived')
  await until(
    () => world.mails.some(({ to, text }) => to === site.person.email && text.includes('deleted the key pair')),
    15_000,
  )
})

test('a pair’s last use is when a call came, and not when a gateway last wrote such times', async () => {
  const site = await newSite()
  const [first, second] = [await create(site, 'first'), await create(site, 'second')]
  const lastUsed = createLastUsed(world.store.db)
  const usedAt = async (id: string) => {
    const pairs = world.store.db.selectFrom('key_pairs').select('last_used_at').where('id', '=', id)
    return (await pairs.executeTakeFirstOrThrow()).last_used_at?.getTime()
  }
  lastUsed.add(first.id)
  await lastUsed.write()
  const before = await usedAt(first.id)
  assert.ok(before)
  await new Promise((resolve) => setTimeout(resolve, 5))
  lastUsed.add(second.id)
  await lastUsed.write()
  assert.equal(await usedAt(first.id), before)
  assert.ok(Number(await usedAt(second.id)) > before)
})

test('what was spent with a pair in thirty days stands beside it', async () => {
  const site = await newSite()
  const pair = await create(site)
  const idle = await create(site, 'idle')
  assert.equal(await call(pair), 200)
  await rollUp(world.store)
  const { charged_nanos } = await world.store.db
    .selectFrom('charges')
    .select('charged_nanos')
    .where('project_id', '=', site.project)
    .executeTakeFirstOrThrow()
  const items = await list(site)
  const spent = (id: string) => items.find((item: { id: string }) => item.id === id).spent30dNanos
  assert.deepEqual([spent(pair.id), spent(idle.id)], [String(charged_nanos), '0'])
})
