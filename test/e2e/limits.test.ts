import assert from 'node:assert/strict'
import { after, before as beforeAll, test } from 'node:test'
import { NO_LIMITS, replaceLimits, type LimitValues } from '../../src/store/billing/limits.ts'
import type { LimitScope } from '../../src/rules/billing/limits.ts'
import { addProject, chatBody, complete, createWorld, until, type TestProject, type World } from '../support/world.ts'

/** Limits and budgets as a publisher's app meets them. */

let world: World
beforeAll(async () => {
  world = await createWorld()
})
after(() => world.close())

async function limit(project: TestProject, scope: LimitScope, values: Partial<LimitValues>): Promise<void> {
  const row = await world.store.db
    .selectFrom('key_pairs as k')
    .innerJoin('projects as p', 'p.id', 'k.project_id')
    .select(['k.id', 'p.publisher_id as publisherId'])
    .where('p.id', '=', project.id)
    .executeTakeFirstOrThrow()
  const subject = scope === 'key_pair' ? row.id : project.id
  const of = { scope, subject, publisherId: row.publisherId, projectId: project.id }
  await replaceLimits(world.store.db, of, { ...NO_LIMITS, ...values })
}

async function call(project: TestProject, headers: Record<string, string> = {}, extra: Record<string, unknown> = {}) {
  const response = await complete(world, chatBody('tokens=3', { max_tokens: 5, ...extra }), { project, headers })
  const body = (await response.json()) as { message?: string }
  return { status: response.status, headers: response.headers, message: body.message }
}

interface CreditsBody {
  available_nanos: string
  limits: Record<string, unknown>[]
  budgets: Record<string, unknown>[]
}

async function creditsOf(project: TestProject, headers: Record<string, string> = {}): Promise<CreditsBody> {
  const response = await fetch(`${world.url}/v1/credits`, { headers: { ...project.headers, ...headers } })
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('cache-control'), 'private, no-store')
  return (await response.json()) as CreditsBody
}

test('an end user is the same by header, safety_identifier and user, in that order, and another one in each project', async () => {
  const project = await addProject(world.store, world.secrets)
  await limit(project, 'end_users', { requests_per_minute: 2 })
  assert.equal((await call(project, { 'x-end-user-id': 'ada' })).status, 200)
  assert.equal((await call(project, {}, { safety_identifier: 'ada', user: 'bob' })).status, 200)
  const refused = await call(project, {}, { user: 'ada' })
  assert.equal(refused.status, 429)
  assert.equal(
    refused.message,
    'This end user has reached its limit of requests per minute. Retry after the stated time.',
  )
  assert.ok(Number(refused.headers.get('retry-after')) <= 60)
  assert.equal((await call(project, { 'x-end-user-id': 'bob' }, { user: 'ada' })).status, 200)
  assert.equal((await call(project)).status, 200, 'a call for nobody has no such limit')
  const other = await addProject(world.store, world.secrets)
  await limit(other, 'end_users', { requests_per_minute: 2 })
  assert.equal((await call(other, { 'x-end-user-id': 'ada' })).headers.get('x-ratelimit-remaining-requests'), '1')
})

test('an end user is kept as a digest, with a label only if one is sent, and what cannot be one is no reason to refuse', async () => {
  const project = await addProject(world.store, world.secrets)
  const name = `someone-${project.id}`
  await call(project, { 'x-end-user-id': name, 'x-end-user-label': 'Team\tBlue ' })
  await call(project, { 'x-end-user-id': name })
  assert.equal((await call(project, {}, { safety_identifier: 7 })).status, 200)
  assert.equal((await call(project, { 'x-end-user-id': 'x'.repeat(513) })).status, 200)
  const { db } = world.store
  const seen = db.selectFrom('end_users').where('project_id', '=', project.id)
  await until(async () => (await seen.select('id').execute()).length === 1, 10_000)
  const [row] = await seen.select(['id', 'label']).execute()
  assert.equal(row?.label, 'TeamBlue')
  const calls = await db.selectFrom('calls').select('end_user_id').where('project_id', '=', project.id).execute()
  assert.deepEqual(calls.map(({ end_user_id }) => end_user_id).filter(Boolean), [row?.id, row?.id])
  assert.ok(!world.logs.some((line) => line.includes(name)))
})

test('a used up budget is 403 with its name, is shown by GET /v1/credits, and once it is raised calls are answered', async () => {
  const project = await addProject(world.store, world.secrets)
  const availableNow = async () => BigInt((await creditsOf(project)).available_nanos)
  const before = await availableNow()
  assert.equal((await call(project)).status, 200)
  const spent = before - (await availableNow())
  assert.ok(spent > 0n)
  await limit(project, 'key_pair', { month_nanos: spent })
  const refused = await call(project)
  assert.equal(refused.status, 403)
  assert.match(refused.message ?? '', /^The monthly budget of this key pair is used up\. It resets on 1 /)
  const { budgets, limits } = await creditsOf(project)
  assert.equal(budgets.length, 1)
  const { renews_at, ...budget } = budgets[0] ?? {}
  assert.deepEqual(budget, {
    of: 'key_pair',
    period: 'month',
    limit_nanos: String(spent),
    spent_nanos: String(spent),
    left_nanos: '0',
  })
  assert.match(String(renews_at), /-01T00:00:00\.000Z$/)
  assert.deepEqual(limits, [])
  await limit(project, 'key_pair', { month_nanos: spent * 100n })
  assert.equal((await call(project)).status, 200)
})

test('answers, streamed or not, tell what the tightest rates leave, and GET /v1/credits tells all of them', async () => {
  const project = await addProject(world.store, world.secrets)
  await limit(project, 'key_pair', { requests_per_minute: 100, tokens_per_minute: 5_000n })
  await limit(project, 'end_users', { requests_per_minute: 10 })
  const { headers } = await call(project, { 'x-end-user-id': 'ada' })
  const rates = (name: string) =>
    ['limit', 'remaining', 'reset'].map((part) => headers.get(`x-ratelimit-${part}-${name}`))
  assert.deepEqual(rates('requests').slice(0, 2), ['10', '9'])
  assert.match(rates('requests')[2] ?? '', /^\d+s$/)
  assert.deepEqual(rates('tokens').slice(0, 2), ['5000', '5000'])
  const streamed = await complete(world, chatBody('tokens=3', { stream: true, max_tokens: 5 }), { project })
  assert.equal(streamed.headers.get('x-ratelimit-limit-requests'), '100')
  await streamed.text()
  const { limits } = await creditsOf(project, { 'x-end-user-id': 'new' })
  const named = limits.map(({ of, name, limit: max, left }) => [of, name, max, left])
  assert.deepEqual(
    named.filter(([of]) => of === 'end_user'),
    [['end_user', 'requests_per_minute', 10, 10]],
  )
  assert.deepEqual(
    named.find(([, name]) => name === 'requests_per_minute'),
    ['key_pair', 'requests_per_minute', 100, 98],
  )
  const free = await addProject(world.store, world.secrets)
  assert.equal((await call(free)).headers.get('x-ratelimit-limit-requests'), null)
})
