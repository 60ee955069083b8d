import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/rules/durations.ts'
import { IDEMPOTENCY_KEPT_MS, LONGEST_CALL_MS } from '../../src/rules/limits.ts'
import type { Store } from '../../src/store/database.ts'
import { addSettledCall, createTestLedger } from '../support/ledger.ts'
import { createSchedule } from '../support/schedule.ts'
import {
  at,
  createWorkerWorld,
  JUST_PAST_MS,
  LEASE_MS,
  PERIODS_MS,
  SOON_MS,
  type WorkerWorld,
} from '../support/worker-world.ts'
import { walletOf } from '../support/world.ts'

/**
 * Every job, run when its time has come and not a millisecond before, under the worker's own login. Of what a job acts on
 * there is always a row just past the edge, which it must act on, and one just before it, which it must not. Here is what
 * is swept, forgotten, audited and added up; worker-publishers.test.ts has what publishers notice.
 */

let world: WorkerWorld
let store: Store
before(async () => {
  world = await createWorkerWorld()
  store = world.store
})
after(() => world.close())

test('the worker has these jobs, each with its period', () => {
  assert.deepEqual(Object.fromEntries([...world.jobs].map(([name, { periodMs }]) => [name, periodMs])), PERIODS_MS)
})

test('a worker that is stopped ends every job', () => {
  const schedule = createSchedule()
  const worker = world.startWorker(schedule.repeat)
  const stopped = () => [...schedule.jobs.values()].filter(({ isStopped }) => isStopped).length
  assert.equal(stopped(), 0)
  worker.stop()
  assert.equal(stopped(), Object.keys(PERIODS_MS).length)
})

test('holds of a gateway that is silent for its lease are released, and those that outlived the longest call', async () => {
  const project = await world.newProject()
  const asked = { projectId: project.id, keyPairId: project.keyPairId, modelId: 'm', priceVersion: 1n }
  const hold = async (beatAgoMs: number, heldAgoMs: number) => {
    const gatewayId = uuidv7()
    await store.db
      .insertInto('gateways')
      .values({ id: gatewayId, beat_at: at(-beatAgoMs) })
      .execute()
    const callId = uuidv7()
    const ledger = createTestLedger(store.ledgerPool, gatewayId)
    await ledger.hold({ ...asked, callId, want: 100n, min: 100n, hasIdempotencyKey: false })
    await store.db
      .updateTable('holds')
      .set({ held_at: at(-heldAgoMs) })
      .where('id', '=', callId)
      .execute()
    return callId
  }
  const silent = await hold(LEASE_MS + SECOND_MS, SECOND_MS)
  const silentToo = await hold(LEASE_MS + SECOND_MS, SECOND_MS)
  const beating = await hold(LEASE_MS / 2, SECOND_MS)
  const endless = await hold(0, LONGEST_CALL_MS + SECOND_MS)
  const long = await hold(0, LONGEST_CALL_MS - MINUTE_MS)
  const sweptBefore = (await world.metrics.holdsSwept.get()).values[0]?.value ?? 0
  const seen = await world.aroundTurn('sweep holds', async () => {
    const open = await store.db.selectFrom('holds').select('id').where('project_id', '=', project.id).execute()
    return new Set(open.map(({ id }) => id))
  })
  assert.deepEqual(seen, {
    before: new Set([silent, silentToo, beating, endless, long]),
    after: new Set([beating, long]),
  })
  assert.equal((await world.metrics.holdsSwept.get()).values[0]?.value, sweptBefore + 3)
  const calls = store.db.selectFrom('calls').select('duration_ms').where('id', '=', endless)
  const { duration_ms: durationMs } = await calls.executeTakeFirstOrThrow()
  assert.equal(Math.floor(durationMs / MINUTE_MS), Math.floor((LONGEST_CALL_MS + SECOND_MS) / MINUTE_MS))
  assert.deepEqual(await walletOf(store, project.id), { balance: 1_000_000_000_000n, held: 200n, openHolds: 2 })
  await store.db
    .updateTable('gateways')
    .set({ beat_at: at(-DAY_MS) })
    .execute()
  await world.pass('sweep holds', PERIODS_MS['sweep holds'])
  assert.equal((await walletOf(store, project.id)).openHolds, 0)
})

async function addMessage(projectId: string, name: string, expiresInMs: number, ageMs = 0): Promise<void> {
  const conversation = { project_id: projectId, id: name }
  await store.db.insertInto('conversations').values(conversation).execute()
  await store.db
    .insertInto('messages')
    .values({
      project_id: projectId,
      conversation_id: name,
      digest: randomBytes(16),
      occurrence: 1,
      role: 'user',
      content: JSON.stringify({ content: name }),
      call_id: uuidv7(),
      created_at: at(-ageMs),
      content_expires_at: at(expiresInMs),
    })
    .execute()
}

test('text is erased when its retention has passed, and counted', async () => {
  const { id } = await world.newProject()
  await addMessage(id, 'past', JUST_PAST_MS)
  await addMessage(id, 'kept', SOON_MS)
  const seen = await world.aroundTurn('expire content', async () => {
    const messages = store.db.selectFrom('messages').select('content').where('project_id', '=', id)
    return (await messages.orderBy('conversation_id').execute()).map(({ content }) => content)
  })
  const kept = { content: 'kept' }
  assert.deepEqual(seen, { before: [kept, { content: 'past' }], after: [kept, null] })
  assert.equal((await world.metrics.messagesExpired.get()).values[0]?.value, 1)
})

test('a shorter retention reaches the text that is there, once it is due and in its own project only', async () => {
  const [due, later, other] = [await world.newProject(), await world.newProject(), await world.newProject()]
  for (const { id } of [due, later, other]) await addMessage(id, 'text', 27 * DAY_MS, 3 * DAY_MS)
  const cuts = [
    { project_id: due.id, days: 7, due_at: at(JUST_PAST_MS) },
    { project_id: later.id, days: 7, due_at: at(SOON_MS) },
  ]
  await store.db.insertInto('retention_cuts').values(cuts).execute()
  const seen = await world.aroundTurn('cut retention', async () => {
    const { rows } = await sql<{ id: string; days: number }>`
      select project_id as id, round(extract(epoch from content_expires_at - created_at) / 86400)::int as days
      from messages`.execute(store.db)
    return [due, later, other].map(({ id }) => rows.find((row) => row.id === id)?.days)
  })
  assert.deepEqual(seen, { before: [30, 30, 30], after: [7, 30, 30] })
  // Once more, for what calls from before the change may still add.
  const { rows } = await sql<{ id: string; isLast: boolean; inMs: number }>`
    select project_id as id, is_last as "isLast", round(extract(epoch from due_at - now()) / 60)::int * 60000 as "inMs"
    from retention_cuts`.execute(store.db)
  assert.deepEqual(
    rows.find(({ id }) => id === due.id),
    { id: due.id, isLast: true, inMs: Math.round(LONGEST_CALL_MS / MINUTE_MS) * MINUTE_MS },
  )
  const cutsOfDue = store.db.selectFrom('retention_cuts').select('days').where('project_id', '=', due.id)
  assert.equal((await cutsOfDue.execute()).length, 1)
  const again = { due_at: at(JUST_PAST_MS) }
  await store.db.updateTable('retention_cuts').set(again).where('project_id', '=', due.id).execute()
  await world.pass('cut retention', PERIODS_MS['cut retention'])
  assert.equal((await cutsOfDue.execute()).length, 0, 'and then it is done')
})

test('idempotency keys are forgotten after their day', async () => {
  const { id } = await world.newProject()
  const key = (result: string, ageMs: number) => ({
    project_id: id,
    key_digest: randomBytes(32),
    body_digest: randomBytes(32),
    call_id: uuidv7(),
    gateway_id: uuidv7(),
    result,
    created_at: at(-ageMs),
  })
  const keys = [key('old', IDEMPOTENCY_KEPT_MS + SECOND_MS), key('young', IDEMPOTENCY_KEPT_MS - MINUTE_MS)]
  await store.db.insertInto('idempotency_keys').values(keys).execute()
  const seen = await world.aroundTurn('expire idempotency keys', async () => {
    const left = store.db.selectFrom('idempotency_keys').select('result').where('project_id', '=', id)
    return (await left.orderBy('result').execute()).map(({ result }) => result)
  })
  assert.deepEqual(seen, { before: ['old', 'young'], after: ['young'] })
})

test('what a conversation is spared is forgotten when its time is over', async () => {
  const { id } = await world.newProject()
  const restraint = (turns: number, expiresInMs: number) => ({
    project_id: id,
    digest: randomBytes(32),
    turns,
    expires_at: at(expiresInMs),
  })
  await store.db
    .insertInto('conversation_restraints')
    .values([restraint(1, JUST_PAST_MS), restraint(2, SOON_MS)])
    .execute()
  const seen = await world.aroundTurn('forget restraints', async () => {
    const left = store.db.selectFrom('conversation_restraints').select('turns').where('project_id', '=', id)
    return (await left.orderBy('turns').execute()).map(({ turns }) => turns)
  })
  assert.deepEqual(seen, { before: [1, 2], after: [2] })
})

test('the ledger is audited: a wallet that is a nano off is counted and told, and no more once it is right', async () => {
  const { id } = await world.newProject()
  const change = (nanos: bigint) =>
    sql`update wallets set balance_nanos = balance_nanos + ${nanos} where project_id = ${id}`.execute(store.db)
  await change(1n)
  const broken = async () =>
    (await world.metrics.auditViolations.get()).values.find(({ labels }) => labels.invariant === 'I1')?.value
  assert.deepEqual(await world.aroundTurn('audit', broken), { before: undefined, after: 1 })
  const told = world.lines.filter(({ msg, invariant }) => msg === 'the ledger is broken' && invariant === 'I1')
  assert.deepEqual(
    told.map(({ examples }) => (examples as { id: string }[]).map((example) => example.id)),
    [[id]],
  )
  assert.ok(Date.now() / 1_000 - ((await world.metrics.auditFinished.get()).values[0]?.value ?? 0) < 60)
  await change(-1n)
  assert.deepEqual(await world.aroundTurn('audit', broken), { before: 1, after: 0 })
})

function anomaly(provider: string, ageMs: number) {
  const call = { call_id: uuidv7(), project_id: uuidv7(), model_id: 'm' }
  return { ...call, provider, anomalies: ['zero'], created_at: at(-ageMs) }
}

test('reports of the last hour that cannot be right are counted', async () => {
  const rows = [anomaly('liar', HOUR_MS - MINUTE_MS), anomaly('liar', HOUR_MS + SECOND_MS)]
  await store.db.insertInto('usage_anomalies').values(rows).execute()
  const seen = await world.aroundTurn('usage anomalies', async () => {
    const gauges = await Promise.all([world.metrics.anomalousCalls.get(), world.metrics.anomalousProjects.get()])
    return gauges.flatMap(({ values }) => values.map(({ labels, value }) => [labels.provider, labels.kind, value]))
  })
  assert.deepEqual([seen.before, ...seen.after], [[], ['liar', 'zero', 1], ['liar', 'zero', 1]])
  await store.db.deleteFrom('usage_anomalies').execute()
  await world.pass('usage anomalies', PERIODS_MS['usage anomalies'])
  for (const gauge of [world.metrics.anomalousCalls, world.metrics.anomalousProjects])
    assert.deepEqual((await gauge.get()).values, [], 'it is well again')
})

test('reports that could not be right are forgotten after 90 days', async () => {
  const rows = [anomaly('old', 90 * DAY_MS + SECOND_MS), anomaly('young', 90 * DAY_MS - MINUTE_MS)]
  await store.db.insertInto('usage_anomalies').values(rows).execute()
  const seen = await world.aroundTurn('forget usage anomalies', async () => {
    const left = store.db.selectFrom('usage_anomalies').select('provider').where('provider', 'in', ['old', 'young'])
    return (await left.orderBy('provider').execute()).map(({ provider }) => provider)
  })
  assert.deepEqual(seen, { before: ['old', 'young'], after: ['young'] })
})

test('settled calls are added to the usage of their hour and day, and what is settled later is not yet', async () => {
  const { id, keyPairId } = await world.newProject()
  const failed = { charge: 0n, change: { outcome: 'upstream_failed' as const, status: 502 } }
  for (const settledInMs of [-10 * SECOND_MS, SOON_MS]) {
    const settledAt = new Date(Date.now() + settledInMs)
    await addSettledCall(store.db, { id: uuidv7(), projectId: id, keyPairId, settledAt, ...failed })
  }
  const seen = await world.aroundTurn('roll up usage', async () => {
    const { rows } = await sql<{ hours: number; days: number }>`select
      (select coalesce(sum(calls), 0)::int from usage_hours where project_id = ${id}) as hours,
      (select coalesce(sum(calls), 0)::int from usage_days where project_id = ${id}) as days`.execute(store.db)
    return rows[0]
  })
  assert.deepEqual(seen, { before: { hours: 0, days: 0 }, after: { hours: 1, days: 1 } })
})

test('sessions and proofs that have ended are deleted, and live ones stay', async () => {
  const { owner } = await world.newProject()
  for (const [name, expiresInMs] of [
    ['ended', JUST_PAST_MS],
    ['live', SOON_MS],
  ] as const) {
    const session = { id: uuidv7(), user_id: owner.id, token: `${name} ${owner.id}`, user_agent: name }
    await store.db
      .insertInto('sessions')
      .values({ ...session, expires_at: at(expiresInMs) })
      .execute()
    const proof = { id: uuidv7(), identifier: name, value: owner.id }
    await store.db
      .insertInto('verifications')
      .values({ ...proof, expires_at: at(expiresInMs) })
      .execute()
  }
  const seen = await world.aroundTurn('expire sessions', async () => {
    const sessions = store.db.selectFrom('sessions').select('user_agent as name').where('user_id', '=', owner.id)
    const proofs = store.db.selectFrom('verifications').select('identifier as name').where('value', '=', owner.id)
    const rows = [...(await sessions.orderBy('name').execute()), ...(await proofs.orderBy('name').execute())]
    return rows.map(({ name }) => name)
  })
  assert.deepEqual(seen, { before: ['ended', 'live', 'ended', 'live'], after: ['live', 'live'] })
})

test('attempts are forgotten after a day, however many there are', async () => {
  await sql`insert into throttles (subject, attempts, started_at)
    select sha256(n::text::bytea), n, now() - interval '1 day 1 second' from generate_series(1, 2001) as n`.execute(
    store.db,
  )
  const young = { subject: randomBytes(32), attempts: 7_000, started_at: at(MINUTE_MS - DAY_MS) }
  await store.db.insertInto('throttles').values(young).execute()
  const seen = await world.aroundTurn('forget attempts', async () => {
    const { rows } = await sql<{ count: number; most: number }>`
      select count(*)::int as count, max(attempts) as most from throttles`.execute(store.db)
    return rows[0]
  })
  assert.deepEqual(seen, { before: { count: 2_002, most: 7_000 }, after: { count: 1, most: 7_000 } })
})

test('tables for the days to come are made two weeks ahead', async () => {
  const { rows } = await sql<{ name: string }>`
    select parent || to_char((now() at time zone 'utc')::date + day, '_YYYYMMDD') as name
    from unnest(array['charges', 'calls', 'recommendations']) as parent, unnest(array[13, 14]) as day`.execute(store.db)
  const names = rows.map(({ name }) => name)
  assert.equal(names.length, 6)
  for (const name of names) await sql`drop table ${sql.table(name)}`.execute(store.db)
  const seen = await world.aroundTurn('partitions', async () => {
    const there = await sql<{ name: string }>`
      select relname as name from pg_class where relname = any (${names}) and relispartition`.execute(store.db)
    return new Set(there.rows.map(({ name }) => name))
  })
  assert.deepEqual(seen, { before: new Set(), after: new Set(names) })
})

test('gateways that are silent for a day are forgotten, unless they still hold credit', async () => {
  const [silent, holding, quiet] = [uuidv7(), uuidv7(), uuidv7()]
  const longSilent = at(-DAY_MS - SECOND_MS)
  const gateways = [
    { id: silent, beat_at: longSilent },
    { id: holding, beat_at: longSilent },
    { id: quiet, beat_at: at(MINUTE_MS - DAY_MS) },
  ]
  await store.db.insertInto('gateways').values(gateways).execute()
  const project = await world.newProject()
  const ledger = createTestLedger(store.ledgerPool, holding)
  const asked = { projectId: project.id, keyPairId: project.keyPairId, modelId: 'm', priceVersion: 1n }
  await ledger.hold({ ...asked, callId: uuidv7(), want: 100n, min: 100n, hasIdempotencyKey: false })
  const seen = await world.aroundTurn('forget gateways', async () => {
    const left = store.db.selectFrom('gateways').select('id').where('id', 'in', [silent, holding, quiet])
    return new Set((await left.execute()).map(({ id }) => id))
  })
  assert.deepEqual(seen, { before: new Set([silent, holding, quiet]), after: new Set([holding, quiet]) })
})
