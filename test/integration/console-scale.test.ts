import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedCalls } from '../../scripts/seed-calls.ts'
import { sql } from 'kysely'
import { digestOfLong } from '../../src/rules/calls/metadata.ts'
import { listCalls, type CallFilters } from '../../src/store/calls/calls.ts'
import { withTenant } from '../../src/store/tenancy.ts'
import { sumUsage, sumUsageByTimeAndGroup } from '../../src/store/billing/usage.ts'
import { DAY_MS } from '../../src/rules/durations.ts'
import { askForPage, openExplained, openScale, SCALE_ROUTES, type Scale, type Scan } from '../support/console-scale.ts'
import { seedRecommendations } from '../support/scale-recommendations.ts'
import { seedBesideCalls } from '../support/scale-rows.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

const CALLS = 100_000
let database: TestDatabase
let scale: Scale

before(async () => {
  database = await createTestDatabase()
  const { projectIds } = await seedCalls(database.url, { calls: CALLS, isMonetized: true })
  await seedBesideCalls(database.url, String(projectIds[0]), CALLS)
  await seedRecommendations(database.url, CALLS / 10)
  scale = await openScale(database.url, String(projectIds[0]))
})
after(async () => {
  await scale.close()
  await database.drop()
})

async function explained(
  work: (tx: Parameters<typeof listCalls>[0], projectId: string) => Promise<unknown>,
): Promise<Scan[]> {
  const { tenants, scans, close } = await openExplained(database.url)
  try {
    const { publisher, large } = scale.place
    await withTenant(tenants, { publisherId: publisher, projectId: large }, (tx) => work(tx, large))
    return scans
  } finally {
    await close()
  }
}

function rowsOf(scans: readonly Scan[], pattern: RegExp): number {
  return scans.filter(({ relation }) => pattern.test(relation)).reduce((sum, { rows }) => sum + rows, 0)
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10).replaceAll('-', '')
}

const page = (filters: CallFilters) => (tx: Parameters<typeof listCalls>[0], projectId: string) =>
  listCalls(tx, { projectId, filters, most: 50 })

test('every page is answered on a database with many calls', async () => {
  for (const route of SCALE_ROUTES) {
    const { text } = await askForPage(scale, route)
    assert.ok(text.length > 0, route[0])
  }
})

test('opening the log reads no more rows than it shows, and of the newest days only', async () => {
  const scans = await explained(page({}))
  const days = new Set([dayOf(Date.now()), dayOf(Date.now() - DAY_MS), dayOf(Date.now() + DAY_MS)])
  for (const { relation, rows } of scans)
    assert.ok(rows === 0 || days.has(relation.slice(-8)), `${rows} of ${relation}`)
  assert.ok(rowsOf(scans, /^calls_/) <= 51, `read ${rowsOf(scans, /^calls_/)} calls`)
  assert.ok(rowsOf(scans, /^charges_/) <= 51, `read ${rowsOf(scans, /^charges_/)} charges`)
})

test('a page of last month reads rows of last month only', async () => {
  const to = new Date(Date.now() - 30 * DAY_MS)
  const scans = await explained(page({ to }))
  const days = new Set([dayOf(to.getTime()), dayOf(to.getTime() - DAY_MS)])
  for (const { relation, rows } of scans)
    assert.ok(rows === 0 || days.has(relation.slice(-8)), `${rows} of ${relation}`)
  assert.ok(rowsOf(scans, /^(calls|charges)_/) <= 102)
})

test('a filter by metadata reads only rows that have the pair, and the newest of those that it shows', async () => {
  const usual = await explained(page({ metadata: { key: 'env', value: 'prod' } }))
  for (const table of [/^call_metadata$/, /^calls_/, /^charges_/]) assert.equal(rowsOf(usual, table), 51, String(table))
  const { large: projectId, publisher: publisherId } = scale.place
  const rare = page({ metadata: { key: 'order', value: 'A-1' } })
  const { rows } = await withTenant(scale.tenants, { publisherId, projectId }, (tx) => rare(tx, projectId))
  assert.ok(rows.length > 10 && rows.length < 50)
  const scans = await explained(rare)
  // Once more to see that there are no others.
  assert.equal(rowsOf(scans, /^call_metadata$/), 2 * rows.length)
  for (const table of [/^calls_/, /^charges_/]) assert.equal(rowsOf(scans, table), rows.length, String(table))
  const never = await explained(page({ metadata: { key: 'env', value: 'test' } }))
  assert.equal(rowsOf(never, /^(call_metadata|calls_|charges_)/), 0)
})

test('a filter by a long value reads no more, although older versions stored it otherwise', async () => {
  const value = `https://example.com/${'path/'.repeat(20)}`
  await sql`insert into call_metadata (project_id, call_id, key, value, long_value, expires_at)
    select project_id, call_id, 'page', case when is_old then ${value} else ${digestOfLong(value)} end,
      case when is_old then null else ${value} end, expires_at
    from (select *, row_number() over (order by call_id) % 2 = 0 as is_old from call_metadata where key = 'env') m`.execute(
    scale.db,
  )
  const scans = await explained(page({ metadata: { key: 'page', value } }))
  const read = rowsOf(scans, /^call_metadata$/)
  assert.ok(read >= 51 && read <= 53, `read ${read}`)
})

test('a filter that never matches stops at its budget and says how far it came, and the search can go on', async () => {
  const { publisher, large: projectId } = scale.place
  const search = {
    projectId,
    filters: { minCharged: 99_000_000_000n },
    most: 50,
    budget: { rowsPerStatement: 1_000, ms: 0 },
  }
  const ask = (before?: string) =>
    withTenant(scale.tenants, { publisherId: publisher, projectId }, (tx) => listCalls(tx, { ...search, before }))
  const first = await ask()
  assert.deepEqual(first.rows, [])
  assert.ok(first.next !== undefined && first.searchedTo !== undefined)
  const second = await ask(first.next)
  assert.ok(second.searchedTo !== undefined && second.searchedTo < first.searchedTo)
  const scans = await explained((tx) => listCalls(tx, search))
  assert.ok(rowsOf(scans, /^(calls|charges)_/) <= 8 * 1_000, `read ${rowsOf(scans, /^(calls|charges)_/)} rows`)
})

test('a search in steps finds what one without a budget finds', async () => {
  const { publisher, large: projectId } = scale.place
  const filters = { outcomes: ['truncated' as const], modelId: 'gpt-mini' }
  const ask = (before: string | undefined, budget: { rowsPerStatement: number; ms: number }) =>
    withTenant(scale.tenants, { publisherId: publisher, projectId }, (tx) =>
      listCalls(tx, { projectId, filters, before, most: 50, budget }),
    )
  const ids: string[] = []
  for (let next: string | undefined, isFirst = true; isFirst || next !== undefined; isFirst = false) {
    const found = await ask(next, { rowsPerStatement: 5_000, ms: 0 })
    ids.push(...found.rows.map(({ id }) => id))
    next = found.next
  }
  const { rows } = await withTenant(scale.tenants, { publisherId: publisher, projectId }, (tx) =>
    listCalls(tx, { projectId, filters, most: 10_000, budget: { rowsPerStatement: CALLS, ms: 60_000 } }),
  )
  assert.ok(ids.length > 50)
  assert.deepEqual(
    ids,
    rows.map(({ id }) => id),
  )
})

test('usage is read from roll-ups alone, and only from the rows of its days', async () => {
  const to = new Date(Math.ceil(Date.now() / DAY_MS) * DAY_MS)
  const span = { from: new Date(to.getTime() - 7 * DAY_MS), to, every: 'day' as const }
  const scans = await explained(async (tx, projectId) => {
    await sumUsage(tx, { projectIds: [projectId], ...span })
    await sumUsageByTimeAndGroup(tx, { projectIds: [projectId], ...span }, 'model')
  })
  assert.equal(rowsOf(scans, /^(calls|charges)_/), 0)
  // Five models and three keys, and prices that changed once.
  assert.ok(rowsOf(scans, /^usage_days/) <= 2 * 7 * 5 * 3 * 2, `read ${rowsOf(scans, /^usage_days/)} days`)
})
