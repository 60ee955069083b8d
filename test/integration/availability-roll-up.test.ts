import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { HOUR_MS, MINUTE_MS } from '../../src/rules/durations.ts'
import { KEPT_MS } from '../../src/rules/retention.ts'
import { SLOT_MS } from '../../src/rules/upstreams/availability.ts'
import type { Settlement } from '../../src/store/billing/settlement.ts'
import { addSettledCall } from '../support/ledger.ts'
import { createWorkerWorld, PERIODS_MS, type WorkerWorld } from '../support/worker-world.ts'

/** How models and providers answered, as the worker adds it up under its own login. */

let world: WorkerWorld
before(async () => {
  world = await createWorkerWorld()
})
after(() => world.close())
// Each test has models of its own; what others called is counted again.
beforeEach(() => sql`update usage_progress set through = null`.execute(world.store.db))

type Project = Awaited<ReturnType<WorkerWorld['newProject']>>

/** Half an hour ago, in the middle of a slot. */
const AT_MS = Math.floor((Date.now() - HOUR_MS / 2) / SLOT_MS) * SLOT_MS + MINUTE_MS

async function call({ id, keyPairId }: Project, modelId: string, change: Partial<Settlement>, atMs = AT_MS) {
  const settledAt = new Date(atMs + 2_000)
  const asked = { id: uuidv7(atMs), projectId: id, keyPairId, modelId, charge: 0n }
  await addSettledCall(world.store.db, { ...asked, settledAt, change })
}

function tried(provider: string, failed?: string): Settlement['attempts'][number] {
  return { deployment: 'd', provider, ms: 5, failed }
}

async function rollUp(): Promise<void> {
  await world.pass('roll up usage', PERIODS_MS['roll up usage'])
}

async function rowsOf(table: 'availability_slots' | 'availability_days', name: string) {
  const { rows } = await sql<{ at: Date; told: number[]; callers: string; failed_for: string }>`
    select starts_at as at, array[calls, failures]::int4[] as told, callers::bit(64)::text as callers,
      failed_for::bit(64)::text as failed_for from ${sql.table(table)} where name = ${name} order by 1`.execute(
    world.store.db,
  )
  const bits = (mask: string) => mask.replaceAll('0', '').length
  return rows.map(({ at, told, callers, failed_for }) => ({ at, told, of: [bits(callers), bits(failed_for)] }))
}

test('each call counts once for its model, and each try for its provider', async () => {
  const project = await world.newProject()
  const failed = { outcome: 'upstream_failed', status: 502, attempts: [tried('west', 'server_error')] } as const
  await call(project, 'm1', { attempts: [tried('west', 'rate_limited'), tried('east')] })
  await call(project, 'm1', { attempts: [tried('west')] })
  await call(project, 'm1', { ...failed, attempts: [...failed.attempts] })
  await call(project, 'm1', { outcome: 'hung_up', attempts: [tried('east')] }, AT_MS + SLOT_MS)
  await rollUp()
  await rollUp()
  const slot = new Date(AT_MS - MINUTE_MS)
  assert.deepEqual(await rowsOf('availability_slots', 'm1'), [
    { at: slot, told: [3, 1], of: [1, 1] },
    { at: new Date(slot.getTime() + SLOT_MS), told: [1, 0], of: [1, 0] },
  ])
  assert.deepEqual(await rowsOf('availability_slots', 'west'), [{ at: slot, told: [3, 2], of: [1, 1] }])
  const days = await rowsOf('availability_days', 'm1')
  assert.deepEqual(
    days.reduce((sum, { told: [calls = 0, failures = 0] }) => [sum[0]! + calls, sum[1]! + failures], [0, 0]),
    [4, 1],
  )
})

test('what failed because of the request says nothing of the model, nor of its provider', async () => {
  const project = await world.newProject()
  for (const kind of ['rejected', 'model_failed', 'event_too_big', 'reader_stalled'])
    await call(project, 'm2', { outcome: 'upstream_failed', status: 400, attempts: [tried('north', kind)] })
  await call(project, 'm2', { outcome: 'upstream_failed', status: 502, attempts: [tried('north', 'key_rejected')] })
  await call(project, 'm2', { outcome: 'gateway_died', status: 0, attempts: [] })
  await rollUp()
  assert.deepEqual(
    (await rowsOf('availability_slots', 'm2')).map(({ told }) => told),
    [[2, 2]],
  )
  assert.deepEqual(
    (await rowsOf('availability_slots', 'north')).map(({ told }) => told),
    [[1, 1]],
  )
})

test('it is told whether one publisher or several called, by publisher and not by project', async () => {
  const first = await world.newProject()
  const others = await Promise.all(Array.from({ length: 9 }, () => world.newProject()))
  await call(first, 'm3', { outcome: 'timed_out', status: 504, attempts: [tried('south', 'idle_timeout')] })
  for (const project of others) await call(project, 'm3', { attempts: [tried('south')] })
  const twin = await world.newProject()
  await sql`update projects set publisher_id = ${first.publisherId} where id = ${twin.id}`.execute(world.store.db)
  for (const project of [first, twin])
    await call(project, 'm4', { outcome: 'timed_out', status: 504, attempts: [tried('south', 'idle_timeout')] })
  await rollUp()
  const [slot] = await rowsOf('availability_slots', 'm3')
  assert.equal(slot?.of[1], 1)
  assert.ok(Number(slot?.of[0]) > 1, 'ten publishers have more than one bit of 64')
  assert.deepEqual((await rowsOf('availability_slots', 'm4'))[0]?.of, [1, 1])
})

test('slots go after eight days and days after ninety-one', async () => {
  const row = { kind: 'model', name: 'old', calls: 1n, failures: 0n, callers: 1n, failed_for: 0n }
  const at = (ageMs: number) => sql<Date>`now() - ${ageMs} * interval '1 ms'`
  for (const ageMs of [KEPT_MS.availabilitySlots - HOUR_MS, KEPT_MS.availabilitySlots + HOUR_MS])
    await world.store.db
      .insertInto('availability_slots')
      .values({ ...row, starts_at: at(ageMs), first_tokens: [] })
      .execute()
  for (const ageMs of [KEPT_MS.availabilityDays - HOUR_MS, KEPT_MS.availabilityDays + HOUR_MS])
    await world.store.db
      .insertInto('availability_days')
      .values({ ...row, starts_at: at(ageMs) })
      .execute()
  await world.pass('forget availability', PERIODS_MS['forget availability'])
  const ages = async (table: 'availability_slots' | 'availability_days') =>
    (await rowsOf(table, 'old')).map((left) => Math.round((Date.now() - left.at.getTime()) / HOUR_MS))
  assert.deepEqual(await ages('availability_slots'), [KEPT_MS.availabilitySlots / HOUR_MS - 1])
  assert.deepEqual(await ages('availability_days'), [KEPT_MS.availabilityDays / HOUR_MS - 1])
})

test('figures of the whole installation are added up from five publishers on, of the last 30 days', async () => {
  const figures = async () => {
    await world.pass('add up figures', PERIODS_MS['add up figures'])
    return world.store.db.selectFrom('public_figures').select(['calls', 'first_token_ms']).executeTakeFirst()
  }
  await sql`truncate usage_days, usage_hours`.execute(world.store.db)
  const publishers = await Promise.all(Array.from({ length: 5 }, () => world.newProject()))
  const used = async ({ id, keyPairId }: Project, calls: number, daysAgo = 1) => {
    const outcomes = [calls, 7, 0, 0, 0, 0, 0, 0]
    await sql`insert into usage_days select ${id}, now() - ${daysAgo} * interval '1 day', 'm1', ${keyPairId}, 1, ${calls + 7},
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ${outcomes}::int4[], '{}', '{}', '{}'`.execute(world.store.db)
  }
  for (const project of publishers.slice(0, 4)) await used(project, 1_000)
  assert.deepEqual(await figures(), { calls: null, first_token_ms: null })
  await used(publishers[4]!, 999, 31)
  assert.deepEqual(await figures(), { calls: null, first_token_ms: null }, 'the fifth was here too long ago')
  await used(publishers[4]!, 999)
  assert.deepEqual(await figures(), { calls: 4_900n, first_token_ms: 10 }, 'rounded down')
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from public_figures`.execute(world.store.db)
  assert.equal(rows[0]?.n, 1)
})

test('nothing is added up where the operator does not want it', async () => {
  const { addUpFiguresJob } = await import('../../src/worker/add-up-figures.ts')
  await sql`truncate public_figures`.execute(world.store.db)
  await addUpFiguresJob({ db: world.store.db, tellsFigures: false }).run()
  assert.equal((await world.store.db.selectFrom('public_figures').selectAll().execute()).length, 0)
})
