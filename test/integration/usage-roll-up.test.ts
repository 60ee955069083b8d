import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { after, before, test } from 'node:test'
import { createSecrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { CALL_OUTCOMES } from '../../src/rules/billing/charging.ts'
import type { Store } from '../../src/store/database.ts'
import type { Ledger } from '../../src/store/billing/ledger/ledger.ts'
import { rollUpStep } from '../../src/store/billing/usage-roll-up.ts'
import { rollUpUsage } from '../../src/worker/roll-up-usage.ts'
import { MINUTE_MS } from '../../src/rules/durations.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'
import { addSettledCall, createTestLedger, settlementOf } from '../support/ledger.ts'
import { createRandom } from '../support/random.ts'
import { addProject, until } from '../support/world.ts'

let database: TestDatabase
let store: Store
let workerStore: Store
let ledger: Ledger
const secrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }])

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'usage test' })
  workerStore = openTestStore({ url: loginUrl(database.url, 'worker'), applicationName: 'usage test worker' })
  ledger = createTestLedger(store.ledgerPool)
})
after(async () => {
  await workerStore.close()
  await store.close()
  await database.drop()
})

async function project() {
  const { id } = await addProject(store, secrets)
  const key = await store.db.selectFrom('key_pairs').select('id').where('project_id', '=', id).executeTakeFirstOrThrow()
  const asking = { projectId: id, keyPairId: key.id, hasIdempotencyKey: false, want: 1_000_000n, min: 1n }
  const holdFor = async (callId: string, modelId = 'm', priceVersion = 1n) => {
    await ledger.hold({ ...asking, callId, modelId, priceVersion })
    return callId
  }
  return {
    id,
    holdFor,
    hold: (beganAgoMs = 0, ...priced: [string?, bigint?]) => holdFor(uuidv7(Date.now() - beganAgoMs), ...priced),
    settle: (callId: string, charge: bigint, change = {}) => ledger.settle(settlementOf(callId, id, charge, change)),
  }
}

function rollUp() {
  return rollUpUsage({ db: workerStore.db, signal: new AbortController().signal, marginMs: 0 })
}

/** Until everything that was settled before this call is counted. */
async function rollUpAll(): Promise<void> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(store.db)
  await until(async () => {
    await rollUp()
    const progress = await store.db.selectFrom('usage_progress').select('through').executeTakeFirstOrThrow()
    return progress.through !== null && progress.through > rows[0]!.now
  })
}

async function rolled(projectId: string, table: 'usage_hours' | 'usage_days' = 'usage_hours') {
  const { rows } = await sql<{ calls: bigint; charged: bigint }>`
    select coalesce(sum(calls), 0)::int8 as calls, coalesce(sum(charged_nanos), 0)::int8 as charged
    from ${sql.table(table)} where project_id = ${projectId}`.execute(store.db)
  return rows[0]
}

/** Every number of the roll-ups, computed from the ledger itself in another way. */
async function differences(table: 'usage_hours' | 'usage_days'): Promise<unknown[]> {
  const unit = table === 'usage_hours' ? 'hour' : 'day'
  const compared = sql`
    with units as (
      select generate_series(date_trunc(${sql.lit(unit)}, now() at time zone 'utc') - interval '3 days', now() at time zone 'utc',
        ${sql.lit(`1 ${unit}`)}::interval) as u
    ), firsts as materialized (
      select u, first_id_of(u at time zone 'utc') as id from units
    ), truth as (
      select m.project_id, (select max(u) from firsts where firsts.id <= m.id) as at, m.model_id, m.key_pair_id,
        m.price_version_id, count(*) as calls, sum(m.charged_nanos) as charged, sum(m.input_tokens) as input,
        sum(m.cached_input_tokens) as cached, sum(m.cache_write_tokens) as written, sum(m.output_tokens) as output,
        sum(m.reasoning_tokens) as reasoning, sum(case when m.charged_nanos > 0 then m.usage_nanos else 0 end) as worth,
        sum(case when m.charged_nanos > 0 then m.output_tokens else 0 end) as billed_output,
        count(*) filter (where m.outcome = 'timed_out') as timed_out, count(*) filter (where c.status = 502) as bad_gateway,
        count(c.first_token_ms) as with_first_token, count(*) filter (where c.streamed) as streamed
      from charges m join calls c using (id) group by 1, 2, 3, 4, 5
    ), rolled as (
      select project_id, starts_at at time zone 'utc' as at, model_id, key_pair_id, price_version_id, calls,
        charged_nanos as charged, input_tokens as input, cached_input_tokens as cached, cache_write_tokens as written,
        output_tokens as output, reasoning_tokens as reasoning, billed_worth_nanos as worth,
        billed_output_tokens as billed_output, outcomes[${CALL_OUTCOMES.indexOf('timed_out') + 1}] as timed_out,
        statuses[4] as bad_gateway, (select sum(n) from unnest(first_tokens) as n) as with_first_token, streamed
      from ${sql.table(table)} where (select sum(n) from unnest(durations) as n) = calls
    )
    (select 'only in the ledger', * from truth except all select 'only in the ledger', * from rolled)
    union all
    (select 'only rolled up', * from rolled except all select 'only rolled up', * from truth)`
  return store.db.transaction().execute(async (tx) => {
    // To compile a statement over so many partitions takes longer than to run it.
    await sql`set local jit = off`.execute(tx)
    return (await compared.execute(tx)).rows
  })
}

test('a call that is settled 20 minutes after it began is counted in the hour in which it began, once', async () => {
  const its = await project()
  const early = await its.hold()
  await its.settle(early, 100n)
  const late = await its.hold(20 * MINUTE_MS)
  await rollUpAll()
  assert.deepEqual(await rolled(its.id), { calls: 1n, charged: 100n })
  await its.settle(late, 25n)
  await rollUpAll()
  await rollUpAll()
  assert.deepEqual(await rolled(its.id), { calls: 2n, charged: 125n })
  const { rows } = await sql<{ hour: Date }>`select starts_at as hour from usage_hours
    where project_id = ${its.id} and charged_nanos % 100 = 25`.execute(store.db)
  const hourMs = 60 * MINUTE_MS
  const beganMs = Number.parseInt(late.replaceAll('-', '').slice(0, 12), 16)
  assert.equal(rows[0]?.hour.getTime(), Math.floor(beganMs / hourMs) * hourMs)
})

test('a call counts in the hour and the day in which it began, to the millisecond', async () => {
  const its = await project()
  const nowMs = Date.now()
  const hourMs = nowMs - (nowMs % (60 * MINUTE_MS))
  const dayMs = nowMs - (nowMs % (24 * 60 * MINUTE_MS))
  const began = new Map([
    [dayMs - 1, 1n],
    [dayMs, 10n],
    [hourMs - 1, 100n],
    [hourMs, 1_000n],
  ])
  const [hours, days] = [new Map<number, bigint>(), new Map<number, bigint>()]
  for (const [beganMs, charge] of began) {
    const callId = uuidv7(beganMs)
    await its.settle(await its.holdFor(callId), charge)
    for (const [sums, unitMs] of [
      [hours, 60 * MINUTE_MS],
      [days, 24 * 60 * MINUTE_MS],
    ] as const) {
      const startsMs = beganMs - (beganMs % unitMs)
      sums.set(startsMs, (sums.get(startsMs) ?? 0n) + charge)
    }
  }
  await rollUpAll()
  for (const [table, sums] of [
    ['usage_hours', hours],
    ['usage_days', days],
  ] as const) {
    const { rows } = await sql<{
      at: Date
      charged: bigint
    }>`select starts_at as at, sum(charged_nanos)::int8 as charged
      from ${sql.table(table)} where project_id = ${its.id} group by 1 order by 1`.execute(store.db)
    const counted = rows.map(({ at, charged }) => [at.getTime(), charged])
    assert.deepEqual(
      counted,
      [...sums].toSorted(([a], [b]) => a - b),
      table,
    )
  }
})

test('roll-ups of random calls, late ones among them, equal sums over the ledger in every number', async () => {
  const random = createRandom(7)
  const projects = await Promise.all([project(), project(), project()])
  const open: (() => Promise<unknown>)[] = []
  for (let round = 0; round < 12; round++) {
    for (let n = 0; n < 20; n++) {
      const its = random.pick(projects)
      const outcome = random.pick(CALL_OUTCOMES)
      const isCharged = ['completed', 'hung_up', 'hold_used_up'].includes(outcome)
      const callId = await its.hold(
        random.int(3) === 0 ? random.int(90) * MINUTE_MS : 0,
        `m${random.int(3)}`,
        BigInt(1 + random.int(2)),
      )
      const worth = BigInt(random.int(5_000))
      const usage = {
        input: random.int(900),
        cachedInput: random.int(90),
        cacheWrite: random.int(9),
        output: random.int(500),
        reasoning: random.int(50),
      }
      const change = {
        outcome,
        worth,
        usage,
        status: random.pick([200, 499, 502, 418]),
        streamed: random.int(2) === 0,
        firstTokenMs: random.int(4) === 0 ? undefined : random.int(100_000),
        durationMs: random.int(900_000),
      }
      open.push(() => its.settle(callId, isCharged ? worth : 0n, change))
    }
    // Some are settled now, some in a later round, and roll-ups run between and beside them.
    const now = open.splice(0, 5 + random.int(20))
    await Promise.all([...now.map((settle) => settle()), rollUp()])
  }
  await Promise.all(open.map((settle) => settle()))
  await rollUpAll()
  assert.deepEqual(await differences('usage_hours'), [])
  assert.deepEqual(await differences('usage_days'), [])
})

test('a call that is settled in the very moment at which a step ends is counted in that step, and not again', async () => {
  await rollUpAll()
  const its = await project()
  const keys = store.db.selectFrom('key_pairs').select('id').where('project_id', '=', its.id)
  const { id: keyPairId } = await keys.executeTakeFirstOrThrow()
  const { through } = await store.db.selectFrom('usage_progress').select('through').executeTakeFirstOrThrow()
  // An hour ago, where nothing else was settled.
  const at = (ms: number) => new Date(through!.getTime() - 60 * MINUTE_MS + ms)
  await store.db
    .updateTable('usage_progress')
    .set({ through: at(0) })
    .execute()
  for (const [ms, charge] of [
    [0, 1n],
    [1, 10n],
    [1_000, 100n],
    [1_001, 1_000n],
    [2_000, 10_000n],
    [2_001, 100_000n],
  ] as const)
    await addSettledCall(store.db, { id: uuidv7(), projectId: its.id, keyPairId, charge, settledAt: at(ms) })
  assert.deepEqual(await rollUpStep(workerStore.db, at(9_000), 1_000), at(1_000))
  assert.deepEqual(await rolled(its.id), { calls: 2n, charged: 110n })
  assert.deepEqual(await rollUpStep(workerStore.db, at(2_000), 60_000), at(2_000), 'not beyond the boundary')
  assert.deepEqual(await rolled(its.id), { calls: 4n, charged: 11_110n })
  assert.deepEqual(await rollUpStep(workerStore.db, at(2_000), 1_000), at(2_000))
  assert.deepEqual(await rolled(its.id), { calls: 4n, charged: 11_110n })
  assert.deepEqual(await rolled(its.id, 'usage_days'), { calls: 4n, charged: 11_110n })
  await store.db.updateTable('usage_progress').set({ through }).execute()
})

test('a boundary behind what is counted moves nothing back, and nothing is counted twice', async () => {
  const its = await project()
  await its.settle(await its.hold(), 100n)
  await rollUpAll()
  const progress = store.db.selectFrom('usage_progress').select('through')
  const { through } = await progress.executeTakeFirstOrThrow()
  const earlier = new Date(through!.getTime() - MINUTE_MS)
  assert.deepEqual(await rollUpStep(workerStore.db, earlier, 60 * MINUTE_MS), through)
  assert.deepEqual(await progress.executeTakeFirstOrThrow(), { through })
  await rollUpAll()
  assert.deepEqual(await rolled(its.id), { calls: 1n, charged: 100n })
  assert.deepEqual(await rolled(its.id, 'usage_days'), { calls: 1n, charged: 100n })
})

test('what the calls of a conversation come to is added up, however many roll-ups count them', async () => {
  const its = await project()
  const usage = { input: 1, cachedInput: 10, cacheWrite: 100, output: 1_000, reasoning: 10_000 }
  for (const charge of [100n, 25n]) {
    await its.settle(await its.hold(), charge, { conversationId: 'talk', usage })
    await rollUpAll()
  }
  const sums = store.db.selectFrom('conversation_sums').selectAll().where('project_id', '=', its.id)
  const tokens = { input_tokens: 222n, output_tokens: 22_000n }
  const talk = {
    project_id: its.id,
    conversation_id: 'talk',
    calls: 2n,
    ...tokens,
    charged_nanos: 125n,
    clicks: 0,
    earned_nanos: 0n,
  }
  assert.deepEqual(await sums.execute(), [talk])
})

test('two workers at once count nothing twice', async () => {
  const its = await project()
  for (let n = 0; n < 5; n++) await its.settle(await its.hold(), 10n)
  await Promise.all([rollUpAll(), rollUpAll(), rollUpAll()])
  await rollUpAll()
  assert.deepEqual(await rolled(its.id), { calls: 5n, charged: 50n })
  assert.deepEqual(await rolled(its.id, 'usage_days'), { calls: 5n, charged: 50n })
})

test('a settle whose transaction ends after later ones began is not missed', async () => {
  const its = await project()
  const [slow, quick] = [await its.hold(), await its.hold()]
  const writer = await store.ledgerPool.connect()
  try {
    await writer.query('begin')
    const settles = JSON.stringify([asSettle(slow, its.id, 7)])
    await writer.query('select ledger_apply(null, $1, $2, null, null)', [[its.id], settles])
    await sql`select 1`.execute(store.db)
    await rollUp()
    assert.deepEqual(await rolled(its.id), { calls: 0n, charged: 0n })
    await writer.query('commit')
  } finally {
    writer.release()
  }
  await its.settle(quick, 5n)
  await rollUpAll()
  assert.deepEqual(await rolled(its.id), { calls: 2n, charged: 12n })
})

test('a ledger that was never rolled up is rolled up from its first call on, whatever was there', async () => {
  await sql`truncate usage_hours, usage_days`.execute(store.db)
  await sql`update usage_progress set through = null`.execute(store.db)
  await rollUpAll()
  assert.deepEqual(await differences('usage_hours'), [])
  assert.deepEqual(await differences('usage_days'), [])
})

function asSettle(id: string, projectId: string, nanos: number) {
  const counts = {
    input_tokens: 1,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 1,
    reasoning_tokens: 0,
  }
  const facts = {
    usage_source: 'reported',
    outcome: 'completed',
    request_id: 'r',
    streamed: false,
    status: 200,
    duration_ms: 1,
  }
  return {
    n: 1,
    id,
    project_id: projectId,
    bill_nanos: nanos,
    usage_nanos: nanos,
    ...counts,
    ...facts,
    attempts: [],
    has_key: false,
  }
}
