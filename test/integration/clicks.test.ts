/** The price of a click, who gets it, and what must never happen to the money. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { timeOfUuid, uuidv7 } from '../../src/platform/uuid.ts'
import { DAY_MS, MINUTE_MS } from '../../src/rules/durations.ts'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import type { Db } from '../../src/store/database.ts'
import { setPublisherActivated } from '../../src/store/accounts/publishers.ts'
import { checkLedger } from '../../src/store/billing/ledger-check/ledger-check.ts'
import { findAdvertiserBalance, findWallet, refundWallet } from '../../src/store/billing/wallets.ts'
import { archiveProject, findProject } from '../../src/store/projects/projects.ts'
import {
  applyClicks,
  destroyClickSalts,
  findClickSalt,
  findShown,
  releaseEarnings,
  reverseClick,
} from '../../src/store/recommendations/clicks.ts'
import { createNetworkTags } from '../../src/gateway/recommendations/network-tags.ts'
import { clickNetworkOf } from '../../src/rules/clicks/networks.ts'
import { judgeClick } from '../../src/rules/clicks/verdict.ts'
import { CLICK_SEQUENCES, factsOf, type ClickSequence } from '../corpora/clicks/sequences.ts'
import { click, clickOn, fund, show } from '../support/clicks.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { createRandom } from '../support/random.ts'
import { addProject, createWorld, type World } from '../support/world.ts'

const PRICE = 120_000_000n
const SHARE = (PRICE * 7n) / 10n

let world: World
let projectId: string
let match: Match
before(async () => {
  world = await createWorld()
})
after(() => world.close())
beforeEach(async () => {
  projectId = (await addProject(world.store, world.secrets)).id
  match = await addOffer(world.store.db)
})

/** The invariants that are broken. */
async function broken(): Promise<string[]> {
  const { verdicts } = await checkLedger(world.store.db, { isFull: true, leaseMs: 60_000 })
  return verdicts.filter(({ violations }) => violations > 0).map(({ invariant }) => invariant)
}

async function moneyOf() {
  const { db } = world.store
  const earned = await db.selectFrom('earnings').selectAll().where('project_id', '=', projectId).executeTakeFirst()
  const total = await db
    .selectFrom('campaign_totals')
    .selectAll()
    .where('campaign_id', '=', match.campaignId)
    .executeTakeFirst()
  return {
    advertiser: await findAdvertiserBalance(db, match.advertiserId),
    pending: earned?.pending_nanos ?? 0n,
    spent: total?.spent_nanos ?? 0n,
    wallet: (await findWallet(db, projectId))?.balance_nanos,
  }
}

async function setBudgets(budgets: { daily_budget_nanos?: bigint; total_budget_nanos?: bigint }): Promise<void> {
  await world.store.db.updateTable('campaigns').set(budgets).where('id', '=', match.campaignId).execute()
}

test('a valid click moves its price: the share to what the publisher earned, the rest to the operator', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 10n * PRICE)
  const { wallet } = await moneyOf()
  const [shown] = await show(db, match, projectId)
  const id = uuidv7()
  assert.equal(await click(db, shown!, { id }), 'valid')
  assert.deepEqual(await moneyOf(), { advertiser: 9n * PRICE, pending: SHARE, spent: PRICE, wallet })
  const rows = await db.selectFrom('clicks').selectAll().where('id', '=', id).execute()
  assert.deepEqual(
    rows.map(({ verdict, price_nanos, share_nanos, state }) => ({ verdict, price_nanos, share_nanos, state })),
    [{ verdict: 'valid', price_nanos: PRICE, share_nanos: SHARE, state: 'pending' }],
  )
  assert.deepEqual(await broken(), [])
})

test('sent again, a click changes nothing and has the verdict that it had', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 10n * PRICE)
  const [shown] = await show(db, match, projectId)
  const record = clickOn(shown!)
  assert.deepEqual(await applyClicks(db, [record]), ['valid'])
  const once = await moneyOf()
  assert.deepEqual(await applyClicks(db, [record, clickOn(shown!)]), ['valid', 'repeat'])
  assert.deepEqual(await moneyOf(), once)
})

test('what is not valid by itself is written down and costs nothing; a later person is not a repeat of a bot', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 10n * PRICE)
  const [shown] = await show(db, match, projectId)
  for (const verdict of ['bot', 'prefetch', 'head', 'data_centre'] as const) {
    assert.equal(await click(db, shown!, { verdict }), verdict)
  }
  assert.equal((await moneyOf()).spent, 0n)
  assert.equal(await click(db, shown!), 'valid')
  assert.equal((await moneyOf()).spent, PRICE)
})

test('a recommendation is paid for once, however many clicks come at the same time', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 100n * PRICE)
  const [shown] = await show(db, match, projectId)
  const verdicts = await Promise.all(Array.from({ length: 40 }, () => click(db, shown!)))
  assert.deepEqual(verdicts.toSorted(), [...Array.from({ length: 39 }, () => 'repeat'), 'valid'])
  assert.equal((await moneyOf()).spent, PRICE)
  assert.deepEqual(await broken(), [])
})

test('neither budget is ever exceeded, nor the credit, and the clicks beyond are free', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 12n * PRICE + PRICE / 2n)
  await setBudgets({ daily_budget_nanos: 5n * PRICE + 1n })
  const spend = async (count: number) => {
    const shown = await show(db, match, projectId, count)
    const batches = Array.from({ length: 10 }, (_, n) => shown.filter((__, i) => i % 10 === n))
    const verdicts = await Promise.all(
      batches.map((ids) =>
        applyClicks(
          db,
          ids.map((id) => clickOn(id)),
        ),
      ),
    )
    return Object.fromEntries(
      Object.entries(Object.groupBy(verdicts.flat(), String)).map(([verdict, all]) => [verdict, all?.length]),
    )
  }
  assert.deepEqual(await spend(50), { valid: 5, over_budget: 45 })
  await setBudgets({ daily_budget_nanos: 100n * PRICE, total_budget_nanos: 8n * PRICE })
  assert.deepEqual(await spend(50), { valid: 3, over_budget: 47 })
  await setBudgets({ total_budget_nanos: 100n * PRICE })
  assert.deepEqual(await spend(50), { valid: 4, no_credit: 46 })
  assert.deepEqual((await moneyOf()).advertiser, PRICE / 2n)
  assert.deepEqual(await broken(), [])
})

test('a budget that is lowered holds for what is shown from then on: what was shown before is paid for', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 100n * PRICE)
  const free = await show(db, match, projectId, 3)
  await setBudgets({ daily_budget_nanos: 3n * PRICE, total_budget_nanos: 3n * PRICE })
  const bound = await show(db, match, projectId, 4)
  // The trick: have it shown, and lower the budget before its readers have read it.
  await setBudgets({ daily_budget_nanos: 1n, total_budget_nanos: 1n })
  const verdictsOf = async (ids: readonly string[]) => {
    const verdicts: string[] = []
    for (const id of ids) verdicts.push(await click(db, id))
    return verdicts
  }
  assert.deepEqual(await verdictsOf(bound.slice(0, 4)), ['valid', 'valid', 'valid', 'over_budget'])
  assert.deepEqual(await verdictsOf(free.slice(0, 2)), ['valid', 'valid'])
  // A row written by a gateway of the version before has no budgets; the present ones apply to it.
  await sql`update recommendations set daily_budget_nanos = null, total_budget_nanos = null where id = ${free[2]}`.execute(
    db,
  )
  assert.deepEqual(await verdictsOf(free.slice(2)), ['over_budget'])
  assert.equal((await moneyOf()).spent, 5n * PRICE)
  await setBudgets({ daily_budget_nanos: 100n * PRICE, total_budget_nanos: 100n * PRICE })
  assert.deepEqual(await verdictsOf(bound.slice(3)), ['valid'], 'a budget that is raised holds for all')
  assert.deepEqual(await broken(), [])
})

test('what its campaign could not pay for is not shown, whatever its matcher has heard by then', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 100n * PRICE)
  const isShown = async () => {
    const [id = ''] = await show(db, match, projectId)
    return (await db.selectFrom('recommendations').select('id').where('id', '=', id).execute()).length === 1
  }
  for (const name of ['daily_budget_nanos', 'total_budget_nanos'] as const) {
    await setBudgets({ [name]: PRICE - 1n })
    assert.equal(await isShown(), false, name)
    await setBudgets({ [name]: 100n * PRICE })
  }
  const [shown] = await show(db, match, projectId)
  assert.equal(await click(db, shown!), 'valid')
  for (const name of ['daily_budget_nanos', 'total_budget_nanos'] as const) {
    await setBudgets({ [name]: 2n * PRICE - 1n })
    assert.equal(await isShown(), false, `${name}, of which one click is spent`)
    await setBudgets({ [name]: 2n * PRICE })
    assert.equal(await isShown(), true, name)
  }
})

test('whose network it was can be told of today and yesterday, and of no day before, though its salt is still there', async () => {
  const { db } = world.store
  const tags = createNetworkTags(db)
  const tagOf = (days: number) => tags.tagOf('203.0.113.7', new Date(Date.now() - days * DAY_MS))
  await sql`insert into click_salts (day, salt) select (now() at time zone 'utc')::date - n, ${randomBytes(32)}
    from generate_series(1, 2) n on conflict do nothing`.execute(db)
  const [today, yesterday, before] = await Promise.all([0, 1, 2].map(tagOf))
  assert.ok(today && yesterday && !today.equals(yesterday))
  assert.equal(before, undefined)
  await sql`delete from click_salts where day < (now() at time zone 'utc')::date`.execute(db)
})

test('what clicks share is updated once for all of a batch: a long reader keeps every version, and each look-up goes through them', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 200n * PRICE)
  const [first, ...others] = await show(db, match, projectId, 101)
  await click(db, first!)
  const once = [
    'advertiser_wallets',
    'campaign_days',
    'campaign_totals',
    'click_days',
    'earnings',
    'recommendation_days',
  ]
  const updates = await db.transaction().execute(async (tx) => {
    // Also of the connection's transactions before, which the server adds up now and then.
    const count = async () => {
      const { rows } = await sql<{ name: string; updates: number }>`
        select relname as name, n_tup_upd::int as updates from pg_stat_xact_user_tables
        where relname = any (${once}) order by 1`.execute(tx)
      return rows
    }
    const updatesBefore = await count()
    await applyClicks(
      tx,
      others.map((id) => clickOn(id)),
    )
    return (await count()).map(({ name, updates: times }, n) => [name, times - (updatesBefore[n]?.updates ?? 0)])
  })
  assert.deepEqual(
    updates,
    once.map((name) => [name, 1]),
  )
  assert.equal((await moneyOf()).spent, 101n * PRICE)
})

test('all at once or one by one, clicks have the same verdicts and cost the same', async () => {
  const { db } = world.store
  const random = createRandom(7)
  const beganMs = Date.now() - 40 * MINUTE_MS
  const tags = [undefined, ...Array.from({ length: 3 }, () => randomBytes(16))]
  const pattern = Array.from({ length: 120 }, (_, n) => ({
    campaign: random.int(2),
    shown: random.int(50),
    networkTag: random.pick(tags),
    verdict: random.int(8) === 0 ? ('bot' as const) : ('valid' as const),
    atMs: beganMs + n * 15_000,
  }))
  const outcomes = []
  for (const size of [pattern.length, 1]) {
    const { id } = await addProject(world.store, world.secrets)
    const offers = [await addOffer(db), await addOffer(db)]
    await fund(db, offers[0]!.advertiserId, 15n * PRICE + 1n)
    await fund(db, offers[1]!.advertiserId, 100n * PRICE)
    await db
      .updateTable('campaigns')
      .set({ total_budget_nanos: 12n * PRICE + 1n })
      .where('id', '=', offers[1]!.campaignId)
      .execute()
    const shown = await Promise.all(offers.map((offer) => show(db, offer, id, 50)))
    const clicks = pattern.map(({ campaign, shown: n, networkTag, verdict, atMs }) =>
      clickOn(shown[campaign]?.[n] ?? '', { id: uuidv7(atMs), networkTag, verdict }),
    )
    const verdicts = []
    for (let n = 0; n < clicks.length; n += size) verdicts.push(...(await applyClicks(db, clicks.slice(n, n + size))))
    const left = await Promise.all(offers.map(({ advertiserId }) => findAdvertiserBalance(db, advertiserId)))
    outcomes.push({ verdicts, left })
  }
  const [together, single] = outcomes
  assert.deepEqual(together, single)
  const kinds = new Set(together?.verdicts.map(String))
  assert.deepEqual([...kinds].toSorted(), ['bot', 'no_credit', 'over_budget', 'repeat', 'too_many', 'valid'])
  assert.deepEqual(await broken(), [])
})

test('an advertiser that never paid costs nobody anything and gets no paid clicks', async () => {
  const [shown] = await show(world.store.db, match, projectId)
  assert.equal(await click(world.store.db, shown!), 'no_credit')
})

test('the sixth click of one network in ten minutes is too many, at one publisher; another network and a later one are not', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 100n * PRICE)
  const networkTag = randomBytes(16)
  const shown = await show(db, match, projectId, 9)
  for (const id of shown.slice(0, 5)) assert.equal(await click(db, id, { networkTag }), 'valid')
  assert.equal(await click(db, shown[5]!, { networkTag }), 'too_many')
  assert.equal(await click(db, shown[6]!, { networkTag: randomBytes(16) }), 'valid')
  // A reader who opens one link again and again takes nothing from others in the same network.
  const shared = randomBytes(16)
  for (const verdict of ['valid', ...Array<string>(6).fill('repeat')])
    assert.equal(await click(db, shown[8]!, { networkTag: shared }), verdict)
  const [another] = await show(db, match, projectId)
  assert.equal(await click(db, another!, { networkTag: shared }), 'valid')
  const later = uuidv7(Date.now() + 10 * MINUTE_MS + 1_000)
  assert.equal(await click(db, shown[7]!, { networkTag, id: later }), 'valid')
  const other = await addProject(world.store, world.secrets)
  const [elsewhere] = await show(db, match, other.id)
  assert.equal(await click(db, elsewhere!, { networkTag }), 'valid')
})

/** Lets a click have been so long ago, past every trigger. */
async function makeOlder(id: string, ms: number): Promise<string> {
  const older = uuidv7(timeOfUuid(id).getTime() - ms)
  await sql`update clicks set id = ${older} where id = ${id}`.execute(world.store.db)
  await sql`update campaign_days set day = (time_of_id(${older}) at time zone 'utc')::date
    where campaign_id = ${match.campaignId}`.execute(world.store.db)
  return older
}

test('a click looks at what its own network has followed, and not at all that its project had, also where nothing is known of the table', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 100n * PRICE)
  const others = 15_000
  await sql`
    insert into clicks (id, recommendation_id, project_id, advertiser_id, campaign_id, offer_id, verdict, network_tag)
    select (left(${uuidv7(Date.now() - MINUTE_MS)}, 24) || lpad(to_hex(n), 12, '0'))::uuid, gen_random_uuid(), ${projectId},
      ${match.advertiserId}, ${match.campaignId}, ${match.offerId}, 'repeat', decode(lpad(to_hex(n), 32, '0'), 'hex')
    from generate_series(1, ${others}) n`.execute(db)
  await sql`delete from pg_statistic where starelid = 'clicks'::regclass`.execute(db)
  const shown = await show(db, match, projectId, 10)
  const read = await db.transaction().execute(async (tx) => {
    const rowsRead = async () => {
      const { rows } = await sql<{ rows: number }>`
        select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname = 'clicks'`.execute(
        tx,
      )
      return rows[0]?.rows ?? 0
    }
    const before = await rowsRead()
    const clicks = shown.map((id) => clickOn(id, { networkTag: randomBytes(16) }))
    assert.deepEqual(new Set(await applyClicks(tx, clicks)), new Set(['valid']))
    return (await rowsRead()) - before
  })
  assert.ok(read < others / 2, `${read} rows of ${others} clicks were read for ten`)
})

test('a click opens of the many days that are kept only the one of its recommendation', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 2n * PRICE)
  const [first = '', second = ''] = await show(db, match, projectId, 2)
  const follow = async (connection: Db, id: string) => {
    assert.equal((await findShown(connection, [id]))[0]?.id, id)
    assert.deepEqual(await applyClicks(connection, [clickOn(id)]), ['valid'])
  }
  const opened = await db.connection().execute(async (connection) => {
    // To make a plan, the server opens all of them, once.
    await follow(connection, first)
    return connection.transaction().execute(async (tx) => {
      await follow(tx, second)
      const { rows } = await sql<{ day: string }>`
        select distinct i.indrelid::regclass::text as day
        from pg_locks l join pg_index i on i.indexrelid = l.relation join pg_inherits p on p.inhrelid = i.indrelid
        where l.pid = pg_backend_pid() and p.inhparent in ('recommendations'::regclass, 'calls'::regclass)`.execute(tx)
      return rows.map(({ day }) => day)
    })
  })
  const { rows } = await sql<{ day: string }>`
    select tableoid::regclass::text as day from recommendations where id = ${second}`.execute(db)
  const day = rows[0]?.day ?? assert.fail('not stored')
  assert.deepEqual(opened.toSorted(), [day.replace('recommendations', 'calls'), day])
})

test('earnings are pending for seven days and then pay for calls, once, whoever releases them', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 10n * PRICE)
  const { wallet = 0n } = await moneyOf()
  const [first, second] = await show(db, match, projectId, 2)
  const [early, late] = [uuidv7(), uuidv7()]
  await click(db, first!, { id: early })
  await makeOlder(early, 7 * DAY_MS + MINUTE_MS)
  await click(db, second!, { id: late })
  const released = await Promise.all(Array.from({ length: 4 }, () => releaseEarnings(db, 100)))
  assert.equal(
    released.reduce((sum, count) => sum + count),
    1,
  )
  assert.equal(await releaseEarnings(db, 100), 0)
  const money = await moneyOf()
  assert.deepEqual([money.pending, money.wallet], [SHARE, wallet + SHARE])
  assert.deepEqual(await broken(), [])
})

test('a click that turns out to be invalid is taken back whole, before and after its release, once', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 10n * PRICE)
  const before = await moneyOf()
  const [first, second] = await show(db, match, projectId, 2)
  const pending = uuidv7()
  await click(db, first!, { id: pending })
  assert.equal(await reverseClick(db, pending, 'a farm'), true)
  assert.equal(await reverseClick(db, pending, 'a farm'), false)
  assert.deepEqual(await moneyOf(), before)
  const id = uuidv7()
  await click(db, second!, { id })
  const released = await makeOlder(id, 8 * DAY_MS)
  await releaseEarnings(db, 100)
  assert.equal(await reverseClick(db, released, 'a farm'), true)
  assert.deepEqual(await moneyOf(), before)
  await assert.rejects(reverseClick(db, uuidv7(), 'why'), /no paid click/)
  assert.deepEqual(await broken(), [])
})

test('what a publisher has spent of an invalid click already, its wallet owes', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 10n * PRICE)
  const before = await findAdvertiserBalance(db, match.advertiserId)
  const [shown] = await show(db, match, projectId)
  const id = uuidv7()
  await click(db, shown!, { id })
  const released = await makeOlder(id, 8 * DAY_MS)
  await releaseEarnings(db, 100)
  const { wallet = 0n } = await moneyOf()
  await refundWallet(db, { id: uuidv7(), projectId, amount: wallet - 1n, reference: `spent:${id}`, reason: null })
  assert.equal(await reverseClick(db, released, 'a farm'), true)
  assert.equal(await findAdvertiserBalance(db, match.advertiserId), before)
  const { balance_nanos: balance, owed_nanos: owed } = (await findWallet(db, projectId)) ?? assert.fail()
  assert.deepEqual([balance, owed], [0n, SHARE - 1n])
  assert.deepEqual(await broken(), [])
})

test('what a publisher has earned who was deactivated stays pending, so that it can be taken back', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 10n * PRICE)
  const [shown] = await show(db, match, projectId)
  const id = uuidv7()
  await click(db, shown!, { id })
  const old = await makeOlder(id, 8 * DAY_MS)
  const publisher = sql`(select publisher_id from projects where id = ${projectId})`
  await sql`update publishers set activated_at = null where id = ${publisher}`.execute(db)
  assert.equal(await releaseEarnings(db, 100), 0)
  assert.equal(await reverseClick(db, old, 'a farm'), true)
  assert.equal((await moneyOf()).pending, 0n)
})

test('clicks are paid and taken back at the same time, and never wait for each other in a circle', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 1_000n * PRICE)
  const shown = await show(db, match, projectId, 80)
  const paid = shown.slice(0, 40).map(() => uuidv7())
  await applyClicks(
    db,
    paid.map((id, n) => clickOn(shown[n]!, { id })),
  )
  const results = await Promise.allSettled([
    ...paid.map((id) => reverseClick(db, id, 'a farm')),
    ...shown.slice(40).map((id) => click(db, id)),
  ])
  assert.deepEqual(
    results.filter(({ status }) => status === 'rejected'),
    [],
  )
  assert.equal((await moneyOf()).spent, 40n * PRICE)
  assert.deepEqual(await broken(), [])
})

test('what no longer fits together is noticed: a balance, earnings, a budget', async () => {
  const { db } = world.store
  await fund(db, match.advertiserId, 10n * PRICE)
  const [shown] = await show(db, match, projectId)
  await click(db, shown!)
  const off = async (change: ReturnType<typeof sql>, back: ReturnType<typeof sql>) => {
    await change.execute(db)
    const found = await broken()
    await back.execute(db)
    return found
  }
  const wallet = (by: number) =>
    sql`update advertiser_wallets set balance_nanos = balance_nanos + ${by} where advertiser_id = ${match.advertiserId}`
  const earned = (by: number) =>
    sql`update earnings set pending_nanos = pending_nanos + ${by} where project_id = ${projectId}`
  const spent = (by: number) =>
    sql`update campaign_days set spent_nanos = spent_nanos + ${by} where campaign_id = ${match.campaignId}`
  assert.deepEqual(await off(wallet(1), wallet(-1)), ['I10'])
  assert.deepEqual(await off(earned(1), earned(-1)), ['I11'])
  assert.deepEqual(await off(spent(1), spent(-1)), ['I12'])
  assert.deepEqual(await broken(), [])
})

test('a day has one salt for everybody, and none when it is over for two days', async () => {
  const { db } = world.store
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)
  const today = dayOf(Date.now())
  const salts = await Promise.all(Array.from({ length: 8 }, () => findClickSalt(db, today)))
  assert.equal(new Set(salts.map((salt) => salt?.toString('hex'))).size, 1)
  assert.equal(salts[0]?.length, 32)
  assert.equal(await findClickSalt(db, dayOf(Date.now() - 3 * DAY_MS)), undefined)
  await sql`insert into click_salts (day, salt) values (${dayOf(Date.now() - 2 * DAY_MS)}, ${randomBytes(32)})`.execute(
    db,
  )
  assert.equal(await destroyClickSalts(db), 1)
  assert.deepEqual(await findClickSalt(db, today), salts[0])
})

async function close(closed: 'project' | 'publisher', project: string): Promise<void> {
  const { db } = world.store
  if (closed === 'project') return archiveProject(db, project)
  const { publisher_id: publisher } = (await findProject(db, project)) ?? assert.fail()
  await setPublisherActivated(db, publisher, null)
}

/** Plays it in the real ledger, at the times that it says. Returns what was not as it should be. */
async function play(sequence: ClickSequence, project: string): Promise<string[]> {
  const { db } = world.store
  const { name, serve, serves = 1, clicks } = sequence
  const offer = await addOffer(db)
  // A budget that pays for no click any more has paid for another one.
  const isSpent = serve.budgetClicks === 0
  await fund(db, offer.advertiserId, BigInt((serve.creditClicks ?? 1_000) + Number(isSpent)) * PRICE + 1n)
  if (serve.budgetClicks !== undefined) {
    const budget = BigInt(serve.budgetClicks || 1) * PRICE
    await db.updateTable('campaigns').set({ daily_budget_nanos: budget }).where('id', '=', offer.campaignId).execute()
  }
  const [other, ...shown] = await show(db, offer, project, serves + 1)
  if (isSpent) await click(db, other!, { id: uuidv7(NOON.getTime()) })
  if (serve.closed) await close(serve.closed, project)
  const problems: string[] = []
  for (const [n, facts] of factsOf(sequence, NOON).entries()) {
    const { address, expected, serve: which = 0 } = clicks[n]!
    const networkTag = createHash('sha256').update(clickNetworkOf(address)).digest().subarray(0, 16)
    const id = uuidv7(facts.at.getTime())
    const verdict = await click(db, shown[which]!, { id, networkTag, verdict: judgeClick(facts) })
    if (verdict !== expected) problems.push(`${name}, click ${n + 1}: ${verdict}, expected ${expected}`)
  }
  return problems
}

/** Noon of today, so that no sequence crosses midnight into another budget. */
const NOON = new Date(new Date().setUTCHours(12, 0, 0, 0))

test('every click of the corpus has the verdict that it must have, with the ledger, and the money is right after all of them', async () => {
  const problems: string[] = []
  const left = CLICK_SEQUENCES.values()
  const lane = async () => {
    for (const sequence of left) {
      const project = sequence.serve.closed ? (await addProject(world.store, world.secrets)).id : projectId
      problems.push(...(await play(sequence, project)))
    }
  }
  await Promise.all([lane(), lane(), lane(), lane()])
  assert.deepEqual(problems, [])
  assert.deepEqual(await broken(), [])
})
