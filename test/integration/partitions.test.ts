import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { Client } from 'pg'
import { createMetrics } from '../../src/metrics.ts'
import { createLog } from '../../src/platform/log.ts'
import { STORE_WAIT_MS } from '../../src/rules/limits.ts'
import type { Store } from '../../src/store/database.ts'
import { ensurePartitions, partitionDaysAhead } from '../../src/store/partitions.ts'
import { makePartitionsJob } from '../../src/worker/make-partitions.ts'
import { openTestStore } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'
import { startSteadyCalls } from '../support/steady-calls.ts'
import { createWorld, until, type World } from '../support/world.ts'

/** The tables of the days to come, made while others use those that are there. */

const PARENTS = ['charges', 'calls', 'recommendations']
/** A call may wait for a lock this long because of them. */
const LOCK_WAIT_MAX_MS = 250

let world: World
let workerStore: Store
const open: Client[] = []

before(async () => {
  world = await createWorld({ storeWaitMs: STORE_WAIT_MS })
  workerStore = openTestStore({ url: loginUrl(urlOf(), 'worker'), applicationName: 'parley worker' })
})
after(async () => {
  await Promise.all(open.map((client) => client.end()))
  await workerStore.close()
  await world.close()
})
beforeEach(async () => {
  await ensurePartitions(world.store.db)
})

function urlOf(): string {
  return world.env.DATABASE_URL ?? ''
}

async function connect(application_name: string): Promise<Client> {
  const client = new Client({ connectionString: urlOf(), application_name })
  await client.connect()
  open.push(client)
  return client
}

async function nameOf(parent: string, day: number): Promise<string> {
  const { rows } = await sql<{ name: string }>`
    select ${parent}::text || to_char((now() at time zone 'utc')::date + ${day}::int, '_YYYYMMDD') as name`.execute(
    world.store.db,
  )
  return rows[0]!.name
}

/** Drops the partitions of the last two days of each table and returns their names. */
async function dropLastDays(): Promise<string[]> {
  const names: string[] = []
  for (const parent of PARENTS) for (const day of [13, 14]) names.push(await nameOf(parent, day))
  for (const name of names) await sql`drop table ${sql.table(name)}`.execute(world.store.db)
  return names.toSorted()
}

async function readLong(): Promise<Client> {
  const reader = await connect('pg_dump')
  await reader.query('begin')
  for (const parent of PARENTS) await reader.query(`select count(*) from ${parent}`)
  return reader
}

test('partitions are made beside a long reader, and no call fails or waits for them', async (t) => {
  const missing = await dropLastDays()
  assert.equal(await partitionDaysAhead(workerStore.db), 12)
  const reader = await readLong()
  const calls = await startSteadyCalls(world)
  await until(() => calls.answered > 10)
  const { made, daysAhead, isBusy } = await ensurePartitions(workerStore.db)
  const answered = calls.answered
  await until(() => calls.answered > answered + 10)
  await reader.query('commit')
  const seen = await calls.stop()
  t.diagnostic(JSON.stringify(seen))
  assert.deepEqual(seen.failed, [])
  assert.ok(seen.longestLockWaitMs < LOCK_WAIT_MAX_MS, `a call waited ${seen.longestLockWaitMs} ms for a table`)
  assert.deepEqual({ made: made.toSorted(), daysAhead, isBusy }, { made: missing, daysAhead: 14, isBusy: false })
})

test('who changes the tables at that moment is not waited for, no call is held up, and the next run makes them', async (t) => {
  const missing = await dropLastDays()
  const analyst = await connect('analyze')
  const calls = await startSteadyCalls(world)
  await until(() => calls.answered > 10)
  await analyst.query('begin; lock table charges in share update exclusive mode')
  const startedMs = performance.now()
  const tried = await ensurePartitions(workerStore.db)
  const tookMs = performance.now() - startedMs
  const answered = calls.answered
  await until(() => calls.answered > answered + 10)
  await analyst.query('commit')
  assert.equal(tried.isBusy, true)
  assert.equal(tried.daysAhead, 12)
  assert.ok(tookMs < 2_000, `it waited for ${tookMs} ms`)
  const { made } = await ensurePartitions(workerStore.db)
  const seen = await calls.stop()
  t.diagnostic(JSON.stringify(seen))
  assert.deepEqual([...tried.made, ...made].toSorted(), missing)
  assert.deepEqual(seen.failed, [])
  assert.ok(seen.longestLockWaitMs < LOCK_WAIT_MAX_MS, `a call waited ${seen.longestLockWaitMs} ms for a table`)
})

test('the metric says how many days are ahead, and the log when somebody has been in the way for a week', async () => {
  const metrics = createMetrics()
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  const job = makePartitionsJob({ db: workerStore.db, log, metrics })
  const daysAhead = async () => /^parley_partition_days_ahead (-?\d+)$/m.exec(await metrics.registry.metrics())?.[1]
  const analyst = await connect('analyze')
  for (const [day, said] of [
    [8, 0],
    [7, 1],
  ] as const) {
    await sql`drop table ${sql.table(await nameOf('calls', day))}`.execute(world.store.db)
    await analyst.query('begin; lock table calls in share update exclusive mode')
    await job.run()
    await analyst.query('commit')
    assert.equal(await daysAhead(), String(day - 1))
    assert.equal(lines.filter((line) => line.includes('no table can be made for the days to come')).length, said)
  }
  await job.run()
  assert.equal(await daysAhead(), '14')
})

test('a table that somebody made and did not attach counts as missing, and is finished', async () => {
  const missing = await dropLastDays()
  const left = missing.find((name) => name.startsWith('charges')) ?? ''
  await sql`create table ${sql.table(left)} (like charges including all)`.execute(world.store.db)
  assert.equal(await partitionDaysAhead(workerStore.db), 12)
  const { made } = await ensurePartitions(workerStore.db)
  assert.deepEqual(made.toSorted(), missing)
  assert.deepEqual(await shapeOf(left), await shapeOf(await nameOf('charges', 1)))
})

test('one that is made by itself and attached is like one that PostgreSQL makes as a partition', async () => {
  await dropLastDays()
  await ensurePartitions(workerStore.db)
  for (const parent of PARENTS) {
    const [ours, theirs] = [await nameOf(parent, 14), await nameOf(parent, 15)]
    await world.store.db.transaction().execute(async (tx) => {
      await sql`create table ${sql.table(theirs)} partition of ${sql.table(parent)}
        for values from (first_id_of(now() + interval '15 days')) to (first_id_of(now() + interval '16 days'))`.execute(
        tx,
      )
    })
    assert.deepEqual(await shapeOf(ours), await shapeOf(theirs), parent)
    const policies = (name: string) =>
      sql`
      select polname, polroles, pg_get_expr(polqual, polrelid) as condition from pg_policy
      where polrelid = ${name}::regclass order by 1`.execute(world.store.db)
    assert.deepEqual((await policies(ours)).rows, (await policies(parent)).rows, parent)
    await sql`drop table ${sql.table(theirs)}`.execute(world.store.db)
  }
})

/** Columns, constraints, indexes and triggers, without its own name. */
async function shapeOf(name: string) {
  const { rows } = await sql<{ shape: string }>`
    select 'column ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' '
        || coalesce(pg_get_expr(d.adbin, d.adrelid), '') as shape
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = ${name}::regclass and a.attnum > 0
    union all
    select 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) || ' ' || conislocal || ' ' || coninhcount
      from pg_constraint where conrelid = ${name}::regclass
    union all
    select 'index ' || pg_get_indexdef(indexrelid) || ' ' || indisvalid || ' ' || (select relispartition from pg_class
      where oid = indexrelid) from pg_index where indrelid = ${name}::regclass
    union all
    select 'trigger ' || pg_get_triggerdef(oid) from pg_trigger where tgrelid = ${name}::regclass
    order by 1`.execute(world.store.db)
  return rows.map(({ shape }) => shape.replaceAll(name, 'it'))
}

test('processes that all start at once make each table once', async () => {
  const missing = await dropLastDays()
  const reports = await Promise.all(Array.from({ length: 8 }, () => ensurePartitions(workerStore.db)))
  const rest = await ensurePartitions(workerStore.db)
  assert.deepEqual([...reports.flatMap(({ made }) => made), ...rest.made].toSorted(), missing)
})

test('what the version before calls makes all of them, and leaves what it does not get for later', async () => {
  const missing = await dropLastDays()
  const call = () => sql<{ made: number }>`select ensure_partitions(14) as made`.execute(workerStore.db)
  const analyst = await connect('analyze')
  await analyst.query('begin; lock table recommendations in share update exclusive mode')
  const first = (await call()).rows[0]!.made
  await analyst.query('commit')
  await sleep(1)
  const second = (await call()).rows[0]!.made
  assert.equal(first + second, missing.length)
  assert.ok(first < missing.length)
  assert.equal(await partitionDaysAhead(workerStore.db), 14)
})

test('the first id of a moment is that of its millisecond, in every time zone, and becomes part of the statement that asks for it', async () => {
  const moments = [
    '1970-01-01T00:00:00.000Z',
    '2026-03-08T07:30:00.001Z',
    '2026-11-01T05:59:59.999Z',
    '9999-12-31T23:59:59.999Z',
  ]
  const { rows: zones } = await sql<{ name: string }>`
    select name from pg_timezone_names where name in ('UTC', 'America/New_York', 'Asia/Kolkata')`.execute(
    world.store.db,
  )
  assert.equal(zones.length, 3)
  for (const { name } of zones)
    await world.store.db.transaction().execute(async (tx) => {
      await sql`select set_config('timezone', ${name}, true)`.execute(tx)
      for (const moment of moments) {
        const { rows } = await sql<{ id: string }>`select first_id_of(${moment}::timestamptz) as id`.execute(tx)
        const hex = Date.parse(moment).toString(16).padStart(12, '0')
        assert.equal(rows[0]?.id, `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`, `${moment} in ${name}`)
      }
    })
  const { rows: plan } = await sql<object>`explain verbose select first_id_of(now())`.execute(world.store.db)
  assert.doesNotMatch(JSON.stringify(plan), /first_id_of/)
})
