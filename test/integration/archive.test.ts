import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { Client } from 'pg'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { callIdOf } from '../../src/rules/billing/receipts.ts'
import type { Invariant } from '../../src/rules/billing/invariants.ts'
import { STORE_WAIT_MS } from '../../src/rules/limits.ts'
import { detachTable, listOldDays, NotArchived, sealDay, type OldDay } from '../../src/store/archive.ts'
import { checkLedger } from '../../src/store/billing/ledger-check/ledger-check.ts'
import { sweepHolds } from '../../src/store/billing/wallets.ts'
import type { Db, Store } from '../../src/store/database.ts'
import { openTestStore } from '../support/database.ts'
import { createTestLedger, settlementOf } from '../support/ledger.ts'
import { loginUrl } from '../support/logins.ts'
import { here } from '../support/operator.ts'
import { startSteadyCalls } from '../support/steady-calls.ts'
import { chatBody, complete, createWorld, rollUp, until, type World } from '../support/world.ts'

/** Old days are put away and the ledger stays sound. The tests are one story. */

const LEASE_MS = 60_000
const PATIENCE = { pauseMs: 300, giveUpAfterMs: 60_000 }
const NEVER = () => {}

let world: World
let workerStore: Store
/** By how many days ago it was: a completed call of that day. */
const completed = new Map<number, string>()
/** A call of the oldest day whose gateway died, and which was charged late. */
let late: string

before(async () => {
  world = await createWorld({ storeWaitMs: STORE_WAIT_MS })
  workerStore = openTestStore({
    url: loginUrl(world.env.DATABASE_URL ?? '', 'worker'),
    applicationName: 'archive test',
  })
  const { db } = world.store
  late = await chargeLate()
  for (const age of [30, 29, 20, 10]) {
    const ids = await Promise.all([1, 2, 3].map(() => call()))
    completed.set(age, await makeOlder(db, ids[0]!, age))
    for (const id of ids.slice(1)) await makeOlder(db, id, age)
    await addRecommendation(db, age)
  }
  late = await makeOlder(db, late, 30)
  await call()
})
after(async () => {
  await workerStore.close()
  await world.close()
})

async function call(): Promise<string> {
  const response = await complete(world, chatBody('tokens=5'))
  const { id } = (await response.json()) as { id: string }
  return callIdOf(id)!
}

async function chargeLate(): Promise<string> {
  const { db, ledgerPool } = world.store
  const project = world.project.id
  const key = await db.selectFrom('key_pairs').select('id').where('project_id', '=', project).executeTakeFirstOrThrow()
  const callId = uuidv7()
  const dead = createTestLedger(ledgerPool)
  const asked = { projectId: project, keyPairId: key.id, modelId: 'sim-small', priceVersion: 1n }
  await dead.hold({ ...asked, callId, want: 100n, min: 100n, hasIdempotencyKey: false })
  await sweepHolds(db, LEASE_MS, 3_600_000, 10)
  await dead.settle(settlementOf(callId, project, 70n))
  return callId
}

/** Past every trigger, as no statement of ours could. */
async function unguarded(work: (tx: Db) => Promise<unknown>): Promise<void> {
  await world.store.db.transaction().execute(async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx)
    await work(tx)
  })
}

/** Lets a call be one of a day long ago, for which there is a table. Returns its other id. */
async function makeOlder(db: Db, id: string, age: number): Promise<string> {
  for (const parent of ['charges', 'calls', 'recommendations']) await makeDay(db, parent, age)
  const back = sql`${age}::int * interval '1 day'`
  const other = sql`(substr(first_id_of(time_of_id(id) - ${back})::text, 1, 13) || substr(id::text, 14))::uuid`
  const { rows } = await sql<{ other: string }>`select ${other} as other from (select ${id}::uuid as id) as x`.execute(
    db,
  )
  await unguarded(async (tx) => {
    await sql`update charges set id = ${other}, held_at = held_at - ${back}, settled_at = settled_at - ${back}
      where id = ${id}`.execute(tx)
    await sql`update calls set id = ${other}, created_at = created_at - ${back} where id = ${id}`.execute(tx)
    await sql`update transfers set corrects = ${rows[0]!.other}, created_at = created_at - ${back},
      reference = replace(reference, ${id}, ${rows[0]!.other}) where corrects = ${id}`.execute(tx)
  })
  return rows[0]!.other
}

async function makeDay(db: Db, parent: string, age: number): Promise<void> {
  await sql`do $$ begin execute format('create table if not exists %I partition of %I for values from (%L) to (%L)',
    ${sql.lit(parent)} || to_char((now() at time zone 'utc')::date - ${sql.lit(age)}, '_YYYYMMDD'), ${sql.lit(parent)},
    first_id_of(((now() at time zone 'utc')::date - ${sql.lit(age)})::timestamp at time zone 'utc'),
    first_id_of(((now() at time zone 'utc')::date - ${sql.lit(age)} + 1)::timestamp at time zone 'utc'));
    execute format('grant select on %I to parley_worker',
      ${sql.lit(parent)} || to_char((now() at time zone 'utc')::date - ${sql.lit(age)}, '_YYYYMMDD')); end $$`.execute(
    db,
  )
}

async function addRecommendation(db: Db, age: number): Promise<void> {
  await sql`insert into recommendations (id, project_id, call_id, advertiser_id, campaign_id, offer_id, turn, price_nanos,
      relevance, label, state)
    select first_id_of(now() - ${age}::int * interval '1 day'), ${world.project.id}, g, g, g, g, 1, 1, 1, 'Ad', 'test'
    from gen_random_uuid() as g`.execute(db)
}

function nameOf(age: number): string {
  return new Date(Date.now() - age * 86_400_000).toISOString().slice(0, 10)
}

async function oldDay(age: number): Promise<OldDay> {
  const days = await listOldDays(world.store.db, 7)
  return days.find(({ day }) => day === nameOf(age))!
}

/** The invariants that are broken. */
async function brokenIn(pass: 'full' | 'incremental'): Promise<Invariant[]> {
  const { verdicts } = await checkLedger(workerStore.db, { isFull: pass === 'full', leaseMs: LEASE_MS })
  return verdicts.filter(({ violations }) => violations > 0).map(({ invariant }) => invariant)
}

async function expectSound(): Promise<void> {
  assert.deepEqual(await brokenIn('full'), [])
  assert.deepEqual(await brokenIn('incremental'), [])
}

function archive(olderThan: number) {
  return here(['archive', '--older-than', String(olderThan)], { env: world.env })
}

test('a day is not archived before its usage is summed up, while a call of it holds credit, or when it is not sound', async () => {
  await expectSound()
  const { db } = world.store
  assert.match((await archive(25)).stderr, /^The usage of \S+ is not summed up yet\. Start a worker/)
  await rollUp(world.store)
  const hold = completed.get(30)!.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  await unguarded((tx) =>
    sql`insert into holds (id, project_id, key_pair_id, model_id, price_version_id, gateway_id, amount_nanos)
      select ${hold}, project_id, key_pair_id, model_id, price_version_id, gateway_id, 1 from charges limit 1`.execute(
      tx,
    ),
  )
  await assert.rejects(sealDay(db, await oldDay(30)), (error) => {
    return error instanceof NotArchived && /^A call of \S+ still holds credit/.test(error.message)
  })
  await sql`delete from holds where id = ${hold}`.execute(db)
  const charge = completed.get(30)!
  await unguarded((tx) => sql`update charges set output_tokens = output_tokens + 1 where id = ${charge}`.execute(tx))
  await assert.rejects(sealDay(db, await oldDay(30)), /break an invariant/)
  await unguarded((tx) => sql`update charges set output_tokens = output_tokens - 1 where id = ${charge}`.execute(tx))
  await unguarded((tx) => sql`update calls set outcome = 'truncated' where id = ${charge}`.execute(tx))
  await assert.rejects(sealDay(db, await oldDay(30)), /break an invariant/)
  await unguarded((tx) => sql`update calls set outcome = 'completed' where id = ${charge}`.execute(tx))
  assert.equal((await archive(6)).code, 2)
  await expectSound()
})

test('old days are sealed and detached while the ledger is checked again and again: it is sound all the time', async () => {
  const usage = await world.store.db.selectFrom('usage_days').selectAll().orderBy('starts_at').execute()
  let isOver = false
  const broken: Invariant[][] = []
  const check = async () => {
    while (!isOver) broken.push(await brokenIn('full'))
  }
  const [done] = await Promise.all([archive(25).finally(() => (isOver = true)), check()])
  assert.equal(done.code, 0, done.stderr)
  assert.ok(broken.length > 0)
  assert.deepEqual(broken.flat(), [])
  const suffix = nameOf(30).replaceAll('-', '')
  assert.match(
    done.stdout,
    new RegExp(
      `^sealed ${nameOf(30)}, charges: 4\ndetached archived_charges_${suffix}\ndetached archived_calls_${suffix}\n` +
        `detached archived_recommendations_${suffix}\nsealed ${nameOf(29)}, charges: 3\n`,
    ),
  )
  assert.match(done.stdout, new RegExp(`^for t in .*archived_charges_${suffix}.*; do pg_dump .*drop table`, 'm'))
  await expectSound()
  assert.deepEqual(await world.store.db.selectFrom('usage_days').selectAll().orderBy('starts_at').execute(), usage)
  const { rows } = await sql<{ differing: number; sealed: number }>`
    select count(*) filter (where r.charged is distinct from s.charged_nanos)::int as differing, count(s.day)::int as sealed
    from (select project_id, sum(charged_nanos) as charged from ${sql.table(`archived_charges_${suffix}`)} group by 1) r
      full join (select * from sealed_sums where day = ${nameOf(30)}::date) s on s.account_id = r.project_id`.execute(
    world.store.db,
  )
  assert.deepEqual(rows, [{ differing: 0, sealed: 1 }])
})

test('run again, it finds nothing to do', async () => {
  const again = await archive(25)
  assert.deepEqual([again.code, again.stdout], [0, 'There are no days to archive.\n'])
})

test('of an archived call there is no receipt and no refund, and commands say where it is', async () => {
  const id = completed.get(30)!
  const response = await fetch(`${world.url}/v1/receipts/chatcmpl-${id.replaceAll('-', '')}`, {
    headers: world.project.headers,
  })
  assert.equal(response.status, 404)
  await response.arrayBuffer()
  const where = `archived_charges_${nameOf(30).replaceAll('-', '')}`
  const receipt = await here(['receipt', id], { env: world.env })
  assert.equal(receipt.stderr, `The calls of ${nameOf(30)} are archived: ${id} is in ${where}, or in its dump.\n`)
  const refund = await here(['wallet', 'refund', world.project.id, '0.000001', '--call', id, '--reason', 'why'], {
    env: world.env,
  })
  assert.match(
    refund.stderr,
    new RegExp(`^The calls of ${nameOf(30)} are archived \\(${where}\\), .*nothing changed\\.`),
  )
  assert.match(refund.stderr, /use: parley wallet adjust$/m)
  await expectSound()
})

test('what was sealed is part of the ledger: changed or missing, it is noticed; and so is a late charge that came after', async () => {
  const day = nameOf(29)
  await unguarded((tx) =>
    sql`update sealed_sums set charged_nanos = charged_nanos + 1 where day = ${day}::date`.execute(tx),
  )
  assert.deepEqual(await brokenIn('full'), ['I1', 'journal'])
  await unguarded((tx) =>
    sql`update sealed_sums set charged_nanos = charged_nanos - 1 where day = ${day}::date`.execute(tx),
  )
  await assert.rejects(
    sql`update sealed_sums set charged_nanos = 0`.execute(world.store.db),
    /append-only|may not|never/,
  )
  await unguarded((tx) => sql`update transfers set created_at = now() where corrects = ${late}`.execute(tx))
  assert.deepEqual(await brokenIn('full'), ['I3'])
  await unguarded((tx) =>
    sql`update transfers set created_at = now() - interval '30 days' where corrects = ${late}`.execute(tx),
  )
  await expectSound()
})

test('a day that is sealed and still there is compared with its seal', async () => {
  const { db } = world.store
  assert.equal(await sealDay(db, await oldDay(20)), 3)
  await expectSound()
  const id = completed.get(20)!
  // Charge and call agree with each other and with the wallet, but not with what was sealed.
  const last = (text: string) => text.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))
  const rename = (from: string, to: string) =>
    unguarded(async (tx) => {
      await sql`update charges set id = ${to} where id = ${from}`.execute(tx)
      await sql`update calls set id = ${to} where id = ${from}`.execute(tx)
    })
  await rename(id, last(id))
  assert.deepEqual(await brokenIn('full'), ['I9'])
  await assert.rejects(sealDay(db, await oldDay(20)), /was sealed before and has changed since/)
  await rename(last(id), id)
  await expectSound()
})

test('a day that goes away under a full check counts by its seal; a command that died halfway is finished by the next', async () => {
  const { db } = world.store
  const { day } = await oldDay(20)
  const name = `charges_${day.replaceAll('-', '')}`
  const archiver = new Client({ connectionString: world.env.DATABASE_URL })
  await archiver.connect()
  await archiver.query(`begin; alter table charges detach partition ${name};
    alter table ${name} rename to archived_${name};
    update sealed_days set archived_at = clock_timestamp() where day = '${day}'`)
  const broken = brokenIn('full')
  await until(async () => {
    const { rows } = await sql`select from pg_stat_activity where application_name = 'archive test'
      and wait_event_type = 'Lock' and datname = current_database()`.execute(db)
    return rows.length > 0
  })
  await archiver.query('commit')
  await archiver.end()
  assert.deepEqual(await broken, [])
  await expectSound()
  const done = await archive(15)
  assert.equal(done.code, 0, done.stderr)
  assert.match(done.stdout, new RegExp(`^sealed ${day}, charges: 3\ndetached archived_calls_`))
  await expectSound()
})

test('a table that was not sealed is not detached', async () => {
  const { day, tables } = await oldDay(10)
  await assert.rejects(detachTable(world.store.db, day, tables[0]!, NEVER), /is not sealed/)
  assert.equal((await oldDay(10)).tables.length, 3)
})

test('beside a long reader no call fails or waits long, and the day is detached when the reader has ended', async (t) => {
  const { db } = world.store
  const old = await oldDay(10)
  await sealDay(db, old)
  const reader = new Client({ connectionString: world.env.DATABASE_URL, application_name: 'pg_dump' })
  await reader.connect()
  await reader.query('begin; select count(*) from charges; select count(*) from calls')
  const calls = await startSteadyCalls(world)
  await until(() => calls.answered > 10)
  const waits: unknown[] = []
  const detached = (async () => {
    const names: string[] = []
    for (const each of old.tables) {
      names.push(await detachTable(db, old.day, each, (holders) => waits.push(holders), PATIENCE))
    }
    return names
  })()
  await until(() => waits.length >= 4)
  await reader.query('commit')
  const names = await detached
  const answered = calls.answered
  await until(() => calls.answered > answered + 10)
  const seen = await calls.stop()
  await reader.end()
  t.diagnostic(JSON.stringify({ ...seen, waits: waits.length }))
  assert.deepEqual(seen.failed, [])
  assert.ok(seen.longestLockWaitMs < 250, `a call waited ${seen.longestLockWaitMs} ms for a table`)
  assert.equal(names.length, 3)
  assert.match(JSON.stringify(waits.at(-1)), /"name":"pg_dump"/)
  await expectSound()
})

test('a day that is attached again counts by its rows', async () => {
  const { db } = world.store
  const suffix = nameOf(10).replaceAll('-', '')
  await sql`alter table ${sql.table(`archived_charges_${suffix}`)} rename to ${sql.ref(`charges_${suffix}`)}`.execute(
    db,
  )
  await sql`do $$ begin execute format('alter table charges attach partition %I for values from (%L) to (%L)',
    ${sql.lit(`charges_${suffix}`)}, first_id_of(${sql.lit(nameOf(10))}::timestamp at time zone 'utc'),
    first_id_of((${sql.lit(nameOf(10))}::timestamp + interval '1 day') at time zone 'utc')); end $$`.execute(db)
  await expectSound()
})
