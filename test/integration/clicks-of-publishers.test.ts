/** Clicks on what several projects of one publisher have shown. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { MINUTE_MS } from '../../src/rules/durations.ts'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { setPublisherActivated } from '../../src/store/accounts/publishers.ts'
import { checkLedger } from '../../src/store/billing/ledger-check/ledger-check.ts'
import { findAdvertiserBalance } from '../../src/store/billing/wallets.ts'
import type { Db } from '../../src/store/database.ts'
import { archiveProject } from '../../src/store/projects/projects.ts'
import { applyClicks, findShown } from '../../src/store/recommendations/clicks.ts'
import { findEarnings } from '../../src/store/recommendations/earnings.ts'
import { click, clickOn, fund, show } from '../support/clicks.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { addProject, createWorld, type World } from '../support/world.ts'

const PRICE = 120_000_000n

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

async function fundedOffer(): Promise<Match> {
  const match = await addOffer(world.store.db)
  await fund(world.store.db, match.advertiserId, 1_000n * PRICE)
  return match
}

/** One recommendation in each of so many projects of a new publisher. */
async function showInProjects(match: Match, count: number): Promise<{ projects: string[]; shown: string[] }> {
  const { id, publisherId } = await addProject(world.store, world.secrets)
  const projects = [id]
  while (projects.length < count) projects.push((await addProject(world.store, world.secrets, { publisherId })).id)
  const shown = await Promise.all(projects.map((project) => show(world.store.db, match, project)))
  return { projects, shown: shown.flat() }
}

test('the sixth click of one network in ten minutes is too many in all projects of a publisher together, one by one and at once', async () => {
  const { db } = world.store
  const match = await fundedOffer()
  const expected = [...Array<string>(5).fill('valid'), 'too_many', 'too_many']
  const single = await showInProjects(match, 7)
  const networkTag = randomBytes(16)
  const verdicts = []
  for (const id of single.shown) verdicts.push(await click(db, id, { networkTag }))
  assert.deepEqual(verdicts, expected)
  const together = await showInProjects(match, 7)
  const nowMs = Date.now()
  const atOnce = await applyClicks(
    db,
    together.shown.map((id, n) => clickOn(id, { id: uuidv7(nowMs + n), networkTag })),
  )
  assert.deepEqual(atOnce, expected, 'the clicks on another publisher’s do not count')
})

test('who deletes a project and makes another one starts from what the network has followed in both', async () => {
  const { db } = world.store
  const match = await fundedOffer()
  const { projects, shown } = await showInProjects(match, 6)
  const networkTag = randomBytes(16)
  for (const id of shown.slice(0, 5)) assert.equal(await click(db, id, { networkTag }), 'valid')
  await archiveProject(db, projects[0]!)
  assert.equal(await click(db, shown[5]!, { networkTag }), 'too_many')
})

test('clicks on two projects of a publisher at the same moment are counted one after the other', async () => {
  const { db } = world.store
  const [one, other] = [await fundedOffer(), await fundedOffer()]
  const { publisherId, id } = await addProject(world.store, world.secrets)
  const { id: second } = await addProject(world.store, world.secrets, { publisherId })
  const shown = await show(db, one, id, 5)
  const [last = ''] = await show(db, other, second)
  const networkTag = randomBytes(16)
  const racing = await db.transaction().execute(async (tx) => {
    await applyClicks(
      tx,
      shown.map((recommendation) => clickOn(recommendation, { networkTag })),
    )
    const verdict = click(db, last, { networkTag })
    // The other one either waits by now, or has not seen what is not committed yet.
    await Promise.race([verdict, sleep(500)])
    return { verdict }
  })
  assert.equal(await racing.verdict, 'too_many')
})

test('what a project has shown that is deleted, or whose publisher is deactivated, still leads on, and costs and earns nothing', async () => {
  const { db } = world.store
  const match = await fundedOffer()
  const { publisherId, id: open } = await addProject(world.store, world.secrets)
  const { id: deleted } = await addProject(world.store, world.secrets, { publisherId })
  const shown = await show(db, match, deleted, 2)
  const rest = await show(db, match, open, 8)
  const networkTag = randomBytes(16)
  const before = await findAdvertiserBalance(db, match.advertiserId)
  await archiveProject(db, deleted)
  for (const id of shown) assert.equal(await click(db, id, { networkTag }), 'project_closed')
  await setPublisherActivated(db, publisherId, null)
  for (const id of rest.slice(0, 3)) assert.equal(await click(db, id, { networkTag }), 'project_closed')
  const links = (await findShown(db, [...shown, ...rest])).map((found) => found?.link)
  assert.ok(links.every((link) => typeof link === 'string'))
  assert.equal(await findAdvertiserBalance(db, match.advertiserId), before)
  const { pending: lost } = await findEarnings(db, deleted)
  const { pending } = await findEarnings(db, open)
  assert.deepEqual([lost, pending], [0n, 0n])
  // Nothing is remembered against its readers when it is activated again.
  await setPublisherActivated(db, publisherId, new Date())
  for (const id of rest.slice(3)) assert.equal(await click(db, id, { networkTag }), 'valid')
  const { verdicts } = await checkLedger(db, { isFull: true, leaseMs: 60_000 })
  assert.deepEqual(
    verdicts.filter(({ violations }) => violations > 0),
    [],
  )
})

test('a click of a publisher with a hundred projects looks in each at what its own network has followed, and at nothing else', async () => {
  const { db } = world.store
  const match = await fundedOffer()
  const { projects, shown } = await showInProjects(match, 100)
  const others = 20_000
  await sql`
    insert into clicks (id, recommendation_id, project_id, advertiser_id, campaign_id, offer_id, verdict, network_tag)
    select (left(${uuidv7(Date.now() - MINUTE_MS)}, 24) || lpad(to_hex(n), 12, '0'))::uuid, gen_random_uuid(),
      (${projects}::uuid[])[n % 100 + 1], ${match.advertiserId}, ${match.campaignId}, ${match.offerId}, 'repeat',
      decode(lpad(to_hex(n), 32, '0'), 'hex')
    from generate_series(1, ${others}) n`.execute(db)
  await sql`delete from pg_statistic where starelid in ('clicks'::regclass, 'projects'::regclass)`.execute(db)
  const read = await db.transaction().execute(async (tx) => {
    const before = await rowsRead(tx)
    const clicks = shown.slice(0, 10).map((id) => clickOn(id, { networkTag: randomBytes(16) }))
    assert.deepEqual(new Set(await applyClicks(tx, clicks)), new Set(['valid']))
    return (await rowsRead(tx)) - before
  })
  assert.ok(read < 1_000, `${read} rows of ${others} clicks were read for ten`)
})

async function rowsRead(tx: Db): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname = 'clicks'`.execute(
    tx,
  )
  return rows[0]?.rows ?? 0
}
