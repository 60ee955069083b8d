import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { DAY_MS } from '../../src/rules/durations.ts'
import { findEndUser, forgetErasures, noteEndUsers } from '../../src/store/calls/end-users.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'
import { chatBody, complete, credit, until } from '../support/world.ts'

/** Limits that publishers set through the console's API, and their effect on calls. */

let world: ConsoleWorld
before(async () => {
  world = await createConsoleWorld()
})
after(() => world.close())

interface Pair {
  id: string
  publishableKey: string
  secretKey: string
}

interface Site {
  person: Person
  project: string
  path: string
  pair: Pair
}

async function newSite(): Promise<Site> {
  const person = await newPerson(world)
  const project = await newProject(person)
  await setDomainVerified(world.store.db, project, new Date())
  await credit(world.store, project, 10_000_000_000n)
  const path = `/api/projects/${project}`
  const { body } = await must(person.send(`POST ${path}/keys`, { body: { name: 'web' } }))
  return { person, project, path, pair: body }
}

const NONE = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrentCalls: null,
  dayNanos: null,
  weekNanos: null,
  monthNanos: null,
  totalNanos: null,
}

async function call(pair: Pair, endUser?: { id: string; label?: string }) {
  const headers: Record<string, string> = {
    'x-publishable-key': pair.publishableKey,
    'x-secret-key': pair.secretKey,
    ...(endUser && { 'x-end-user-id': endUser.id }),
    ...(endUser?.label !== undefined && { 'x-end-user-label': endUser.label }),
  }
  const response = await complete(world, chatBody('tokens=1', { max_tokens: 5 }), { headers })
  const { message } = (await response.json()) as { message?: string }
  return { status: response.status, message }
}

const put = ({ person, path }: Site, rest: string, limits: object) =>
  person.send(`PUT ${path}${rest}`, { body: { ...NONE, ...limits } })
const read = async ({ person, path }: Site) => (await must(person.send(`GET ${path}/limits`))).body

async function logOf({ person }: Site, action: string) {
  const path = `GET /api/publishers/${person.publisherId}/audit-log?action=${action}`
  const { body } = await must(person.send(path))
  return body.items.map(({ subject, projectId, details }: Record<string, unknown>) => ({ subject, projectId, details }))
}

async function seen(site: Site): Promise<{ id: string; label: string | null }[]> {
  const items = async () => (await must(site.person.send(`GET ${site.path}/end-users`))).body.items
  await until(async () => (await items()).length > 0)
  return items()
}

test('nothing is limited until somebody says so, and each scope shows what is used and left of it, and until when', async () => {
  const site = await newSite()
  const empty = { values: NONE, rates: [], budgets: [] }
  const { id, publishableKey } = site.pair
  assert.deepEqual(await read(site), {
    operator: { rates: [] },
    account: empty,
    project: empty,
    endUsers: { values: NONE },
    keys: [{ id, name: 'web', publishableKey, pairs: 1, ...empty }],
  })
  await must(put(site, '/limits', { dayNanos: '5000000000', requestsPerMinute: 100 }))
  await must(put(site, `/keys/${id}/limits`, { monthNanos: '1000000000', tokensPerMinute: '50000' }))
  await must(put(site, '/end-user-limits', { totalNanos: '250000000' }))
  const account = `PUT /api/publishers/${site.person.publisherId}/limits`
  await must(site.person.send(account, { body: { ...NONE, weekNanos: '9000000000', concurrentCalls: 7 } }))
  assert.equal((await call(site.pair)).status, 200)
  const { account: ofAccount, project, endUsers, keys } = await read(site)
  const [budget] = keys[0].budgets
  const spent = BigInt(budget.spentNanos)
  assert.ok(spent > 0n)
  const now = new Date()
  const nextMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString()
  assert.deepEqual(budget, {
    period: 'month',
    limitNanos: '1000000000',
    spentNanos: String(spent),
    heldNanos: '0',
    leftNanos: String(1_000_000_000n - spent),
    renewsAt: nextMonth,
  })
  assert.deepEqual(keys[0].values, { ...NONE, monthNanos: '1000000000', tokensPerMinute: '50000' })
  assert.equal(keys[0].rates[0].name, 'tokens')
  assert.deepEqual([project.budgets[0].period, project.budgets[0].spentNanos], ['day', String(spent)])
  assert.deepEqual([project.rates[0].name, project.rates[0].limit], ['requests', 100])
  assert.deepEqual([ofAccount.budgets[0].period, ofAccount.budgets[0].spentNanos], ['week', String(spent)])
  assert.deepEqual(ofAccount.rates, [{ name: 'calls', limit: 7, used: 0, left: 7, renewsAt: null }])
  assert.deepEqual(endUsers.values, { ...NONE, totalNanos: '250000000' })
})

test('a used up budget refuses with a sentence that leads here, and the call after it is raised is answered', async () => {
  const site = await newSite()
  await must(put(site, `/keys/${site.pair.id}/limits`, { monthNanos: '0' }))
  const refused = await call(site.pair)
  assert.equal(refused.status, 403)
  assert.match(
    String(refused.message),
    /^The monthly budget of this key pair is used up\..*under Limits in the console/,
  )
  await must(put(site, `/keys/${site.pair.id}/limits`, { monthNanos: '1000000000' }))
  assert.equal((await call(site.pair)).status, 200)
})

test('what the operator allows is shown beside it, and no publisher can raise it', async () => {
  const site = await newSite()
  const { db } = world.store
  await db.updateTable('projects').set({ requests_per_minute: 1 }).where('id', '=', site.project).execute()
  await must(put(site, '/limits', { requestsPerMinute: 1_000 }))
  assert.equal((await call(site.pair)).status, 200)
  const refused = await call(site.pair)
  // Both calls may fall into two minutes of the clock.
  if (refused.status === 200) assert.equal((await call(site.pair)).status, 429)
  else assert.deepEqual([refused.status, /limit of requests per minute/.test(String(refused.message))], [429, true])
  const { operator, project } = await read(site)
  assert.deepEqual([operator.rates[0].limit, project.rates[0].limit], [1, 1_000])
  const row = await db
    .selectFrom('projects')
    .select('requests_per_minute')
    .where('id', '=', site.project)
    .executeTakeFirst()
  assert.equal(row?.requests_per_minute, 1)
})

test('what makes no sense is refused beside its field', async () => {
  const site = await newSite()
  const wrong: [object, string, RegExp][] = [
    [{ requestsPerMinute: 0 }, 'requestsPerMinute', /at least 1, or nothing for no limit/],
    [{ requestsPerMinute: 1.5 }, 'requestsPerMinute', /whole number/],
    [{ concurrentCalls: 3_000_000_000 }, 'concurrentCalls', /at most/],
    [{ tokensPerMinute: '0' }, 'tokensPerMinute', /whole number of tokens/],
    [{ dayNanos: '-1' }, 'dayNanos', /amount like 25/],
    [{ monthNanos: '1'.repeat(19) }, 'monthNanos', /amount like 25/],
    [{ weekNanos: undefined }, 'weekNanos', /./],
  ]
  for (const [limits, path, sentence] of wrong) {
    const { status, body } = await put(site, '/limits', limits)
    assert.deepEqual([status, body.fields?.[0]?.path], [422, path])
    assert.match(body.fields[0].message, sentence)
  }
})

test('each change is one entry that says what was before and what is now, and what changes nothing is none', async () => {
  const site = await newSite()
  await must(put(site, `/keys/${site.pair.id}/limits`, { monthNanos: '1000000000' }))
  await must(put(site, `/keys/${site.pair.id}/limits`, { monthNanos: '1000000000' }))
  await must(put(site, `/keys/${site.pair.id}/limits`, { monthNanos: '2500000000', requestsPerMinute: 60 }))
  await must(put(site, `/keys/${site.pair.id}/limits`, {}))
  const account = `PUT /api/publishers/${site.person.publisherId}/limits`
  await must(site.person.send(account, { body: { ...NONE, concurrentCalls: 3 } }))
  const project = site.project
  const web = { subject: 'web', projectId: project }
  assert.deepEqual(await logOf(site, 'limits.changed'), [
    { subject: site.person.name, projectId: null, details: { of: 'publisher', concurrent_calls: 'none → 3' } },
    {
      ...web,
      details: { of: 'key_pair', requests_per_minute: '60 → none', month_budget: '$2.50 → none' },
    },
    {
      ...web,
      details: { of: 'key_pair', requests_per_minute: 'none → 60', month_budget: '$1.00 → $2.50' },
    },
    { ...web, details: { of: 'key_pair', month_budget: 'none → $1.00' } },
  ])
})

test('a pair that replaces another shares its budget, and they stand in one line', async () => {
  const site = await newSite()
  const { id } = site.pair
  await must(put(site, `/keys/${id}/limits`, { monthNanos: '1000000000' }))
  assert.equal((await call(site.pair)).status, 200)
  const { body: fresh } = await must(
    site.person.send(`POST ${site.path}/keys/${id}/roll`, { body: { overlapSeconds: 600 } }),
  )
  const { keys } = await read(site)
  assert.deepEqual(
    keys.map(({ id: each, pairs }: { id: string; pairs: number }) => [each, pairs]),
    [[fresh.id, 2]],
  )
  assert.notEqual(keys[0].budgets[0].spentNanos, '0')
  // Through either of them.
  await must(put(site, `/keys/${fresh.id}/limits`, { monthNanos: '0' }))
  assert.deepEqual([(await call(site.pair)).status, (await call(fresh)).status], [403, 403])
  await must(put(site, `/keys/${id}/limits`, {}))
  assert.deepEqual([(await call(site.pair)).status, (await call(fresh)).status], [200, 200])
})

test('what all projects may spend is for owners to set, and for admins to see', async () => {
  const site = await newSite()
  const account = `PUT /api/publishers/${site.person.publisherId}/limits`
  const role = (held: string) =>
    world.store.db
      .updateTable('memberships')
      .set({ role: held })
      .where('publisher_id', '=', site.person.publisherId)
      .execute()
  await must(site.person.send(account, { body: { ...NONE, monthNanos: '7000000000' } }))
  await role('admin')
  assert.equal((await read(site)).account.values.monthNanos, '7000000000')
  assert.equal((await site.person.send(account, { body: NONE })).status, 403)
  await role('developer')
  assert.equal((await read(site)).account, null)
  assert.equal((await put(site, '/limits', {})).status, 403)
})

test('an end user is listed by when they were seen, found by the publisher’s own id and by their label, and has limits', async () => {
  const site = await newSite()
  await call(site.pair, { id: 'customer-17', label: 'Grace from Yale' })
  await call(site.pair, { id: 'customer-18' })
  await until(async () => (await seen(site)).length === 2)
  const [newest, oldest] = await seen(site)
  assert.deepEqual([newest?.label, oldest?.label], [null, 'Grace from Yale'])
  const { body: first } = await must(site.person.send(`GET ${site.path}/end-users?limit=1`))
  const { body: second } = await must(site.person.send(`GET ${site.path}/end-users?limit=1&after=${first.next}`))
  assert.deepEqual([first.items[0].id, second.items[0].id, second.next], [newest?.id, oldest?.id, null])
  const search = async (text: string) =>
    (await must(site.person.send(`POST ${site.path}/end-users/search`, { body: { text } }))).body.items.map(
      ({ id }: { id: string }) => id,
    )
  assert.deepEqual(await search('customer-18'), [newest?.id])
  assert.deepEqual(await search('from yale'), [oldest?.id])
  assert.deepEqual(await search(String(oldest?.id)), [oldest?.id])
  assert.deepEqual(await search('customer-1'), [], 'a part of an id is no id')
  assert.equal((await site.person.send(`GET ${site.path}/end-users?after=x`)).status, 422)

  const today = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS)
  // Without calls of their own, which the worker would add up meanwhile.
  const quiet = { projectId: site.project, id: uuidv7() }
  await noteEndUsers(world.store.db, [{ ...quiet, label: undefined, at: new Date() }])
  const day = { project_id: site.project, end_user_id: quiet.id, calls: 2n, tokens: 30n, charged_nanos: 4n }
  await world.store.db
    .insertInto('end_user_days')
    .values([29, 30].map((ago) => ({ ...day, starts_at: new Date(today.getTime() - ago * DAY_MS) })))
    .execute()
  await must(put(site, '/end-user-limits', { dayNanos: '1000000000', requestsPerMinute: 5 }))
  await must(put(site, `/end-users/${oldest?.id}/limits`, { dayNanos: '3000000000' }))
  const { body: sums } = await must(site.person.send(`GET ${site.path}/end-users/${quiet.id}`))
  assert.deepEqual([sums.calls30d, sums.tokens30d, sums.spent30dNanos], ['2', '30', '4'])
  const { body: one } = await must(site.person.send(`GET ${site.path}/end-users/${oldest?.id}`))
  assert.deepEqual(one.limits.values, { ...NONE, dayNanos: '3000000000' })
  assert.deepEqual(
    [one.limits.budgets[0].limitNanos, one.limits.rates[0].limit],
    ['3000000000', 5],
    'what is not set for one is what holds for every one',
  )
  await call(site.pair, { id: 'customer-17' })
  const { body: counted } = await must(site.person.send(`GET ${site.path}/end-users/${oldest?.id}`))
  assert.notEqual(counted.limits.budgets[0].spentNanos, '0')
  const [entry] = await logOf(site, 'limits.changed')
  assert.deepEqual(entry, {
    subject: oldest?.id,
    projectId: site.project,
    details: { of: 'end_user', day_budget: 'none → $3.00' },
  })
})

test('an end user who is erased leaves no label, no sums, no limits and no counts, and the log has their digest alone', async () => {
  const site = await newSite()
  const { db } = world.store
  await must(put(site, '/end-user-limits', { dayNanos: '1000000000' }))
  await call(site.pair, { id: 'customer-17', label: 'Grace' })
  const [user] = await seen(site)
  const id = String(user?.id)
  await must(put(site, `/end-users/${id}/limits`, { dayNanos: '5' }))
  await db
    .insertInto('end_user_days')
    .values({
      project_id: site.project,
      end_user_id: id,
      starts_at: new Date(),
      calls: 1n,
      tokens: 1n,
      charged_nanos: 1n,
    })
    .execute()
  await must(site.person.send(`DELETE ${site.path}/end-users/${id}`))
  const left = [
    await db.selectFrom('end_users').select('id').where('id', '=', id).execute(),
    await db.selectFrom('end_user_days').select('calls').where('end_user_id', '=', id).execute(),
    await db.selectFrom('limits').select('scope').where('subject', '=', id).execute(),
    await db.selectFrom('limit_counts').select('scope').where('subject', '=', id).execute(),
  ]
  assert.deepEqual(left, [[], [], [], []])
  assert.equal((await site.person.send(`GET ${site.path}/end-users/${id}`)).status, 404)
  assert.equal((await site.person.send(`DELETE ${site.path}/end-users/${id}`)).status, 404)
  assert.equal((await put(site, `/end-users/${id}/limits`, {})).status, 404)
  assert.deepEqual(await logOf(site, 'end_user.erased'), [{ subject: id, projectId: site.project, details: {} }])
  const { text } = await must(site.person.send(`GET /api/publishers/${site.person.publisherId}/audit-log`))
  assert.ok(!/Grace|customer-17/.test(text))
  // An end user who calls again is known again, as if new: without the label.
  assert.equal((await call(site.pair, { id: 'customer-17' })).status, 200)
  const [again] = await seen(site)
  assert.deepEqual([again?.id, again?.label], [id, null])
})

test('an end user who was erased is not brought back by what was seen before', async () => {
  const site = await newSite()
  const { db } = world.store
  await call(site.pair, { id: 'customer-17', label: 'Grace' })
  const [user] = await seen(site)
  const key = { projectId: site.project, id: String(user?.id) }
  const seenBefore = new Date()
  await must(site.person.send(`DELETE ${site.path}/end-users/${key.id}`))
  const isListed = async () => (await findEndUser(db, key)) !== undefined
  await noteEndUsers(db, [{ ...key, label: 'Grace', at: seenBefore }])
  assert.equal(await isListed(), false)
  // As an older gateway does, which knows of no erasures: until the next round of the worker.
  await db
    .insertInto('end_users')
    .values({ project_id: key.projectId, id: key.id, first_seen_at: seenBefore, last_seen_at: seenBefore })
    .execute()
  assert.equal(await forgetErasures(db, DAY_MS, 1_000), 0)
  assert.equal(await isListed(), false)
  await noteEndUsers(db, [{ ...key, label: undefined, at: new Date() }])
  assert.equal(await isListed(), true, 'a later call')
})

test('counts of an end user whose call runs stay until it has ended', async () => {
  const site = await newSite()
  const { db } = world.store
  await must(put(site, '/end-user-limits', { dayNanos: '1000000000' }))
  await call(site.pair, { id: 'customer-17' })
  const [user] = await seen(site)
  const counts = () => db.selectFrom('limit_counts').select('open_holds').where('subject', '=', String(user?.id))
  await db.updateTable('limit_counts').set({ open_holds: 1 }).where('subject', '=', String(user?.id)).execute()
  await must(site.person.send(`DELETE ${site.path}/end-users/${user?.id}`))
  assert.deepEqual(await counts().execute(), [{ open_holds: 1 }])
})
