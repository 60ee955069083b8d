import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Call } from '../../src/gateway/call.ts'
import { createCallMetadata } from '../../src/gateway/call-metadata.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createLog } from '../../src/platform/log.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { deleteConversation, recordTurn } from '../../src/store/calls/conversations.ts'
import { deleteEndUser, noteEndUsers } from '../../src/store/calls/end-users.ts'
import { findMetadata, insertMetadata, type CallMetadata } from '../../src/store/calls/metadata.ts'
import { inTransaction, type Store } from '../../src/store/database.ts'
import { createConsoleWorld, newPerson, newProject, type ConsoleWorld } from '../support/console.ts'
import { openTestStore } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'
import { until } from '../support/world.ts'

/** Metadata is written while others have its conversation or its end user locked, over connections of their own. */

let world: ConsoleWorld
let project: string
/** Under the gateway's own login, as they write. */
let gateways: Store
before(async () => {
  world = await createConsoleWorld()
  project = await newProject(await newPerson(world))
  gateways = openTestStore({ url: loginUrl(String(world.env.DATABASE_URL), 'gateway'), applicationName: 'locks test' })
})
after(async () => {
  await gateways.close()
  await world.close()
})

function callOf(owner: { conversationId?: string; endUserId?: string }): CallMetadata {
  const nobody = { conversationId: undefined, endUserId: undefined }
  return {
    projectId: project,
    callId: uuidv7(),
    ...nobody,
    ...owner,
    pairs: [{ key: 'plan', value: 'free' }],
    retentionDays: 30,
  }
}

async function isKept({ callId }: CallMetadata): Promise<boolean> {
  return (await findMetadata(world.store.db, project, [callId])).has(callId)
}

async function converse(id: string): Promise<string> {
  const conversation = { projectId: project, id }
  await recordTurn(world.store.db, { conversation, callId: uuidv7(), messages: [], retentionDays: 1 })
  return id
}

async function addEndUser(): Promise<string> {
  const id = uuidv7()
  await noteEndUsers(world.store.db, [{ projectId: project, id, label: undefined, at: new Date() }])
  return id
}

async function untilSomebodyWaits(): Promise<void> {
  await until(async () => {
    const { rows } = await sql`select from pg_stat_activity where datname = current_database()
      and wait_event_type = 'Lock' and pid <> pg_backend_pid()`.execute(world.store.db)
    return rows.length === 1
  })
}

const eraseConversation = (id: string) => deleteConversation(world.store.db, { projectId: project, id })
const eraseEndUser = (id: string) =>
  inTransaction(world.store.db, (tx) => deleteEndUser(tx, { projectId: project, id }))

test('while a conversation is being deleted, its metadata is put off and nobody else’s is; when it is gone, it stays away', async () => {
  const doomed = callOf({ conversationId: await converse('doomed') })
  const others = [callOf({ conversationId: await converse('other') }), callOf({ conversationId: 'not stored yet' })]
  await inTransaction(world.store.db, async (tx) => {
    await deleteConversation(tx, { projectId: project, id: 'doomed' })
    assert.deepEqual(await insertMetadata(gateways.db, [doomed, ...others]), [
      { callId: doomed.callId, hasEndUser: false },
    ])
  })
  assert.deepEqual(await Promise.all([doomed, ...others].map(isKept)), [false, true, true])
  assert.deepEqual(await insertMetadata(gateways.db, [doomed]), [])
  assert.equal(await isKept(doomed), false)
})

test('a conversation that was locked for another reason gets its metadata afterwards, once', async () => {
  const call = callOf({ conversationId: await converse('busy') })
  await inTransaction(world.store.db, async (tx) => {
    await sql`select from conversations where project_id = ${project} and id = 'busy' for update`.execute(tx)
    assert.equal((await insertMetadata(gateways.db, [call])).length, 1)
  })
  for (let n = 0; n < 2; n++) assert.deepEqual(await insertMetadata(gateways.db, [call]), [])
  assert.equal(await isKept(call), true)
})

test('metadata that is being written when its conversation is deleted goes with it', async () => {
  const call = callOf({ conversationId: await converse('contested') })
  let erasing: Promise<boolean> | undefined
  await inTransaction(gateways.db, async (tx) => {
    await insertMetadata(tx, [call])
    erasing = eraseConversation('contested')
    await untilSomebodyWaits()
  })
  assert.equal(await erasing, true)
  assert.equal(await isKept(call), false)
})

test('while an end user is being erased, their metadata is put off and others’ is not; when they are gone, it stays away', async () => {
  const [gone, stays] = [await addEndUser(), await addEndUser()]
  const [doomed, other, unknown] = [gone, stays, uuidv7()].map((endUserId) => callOf({ endUserId })) as [
    CallMetadata,
    CallMetadata,
    CallMetadata,
  ]
  await inTransaction(world.store.db, async (tx) => {
    await deleteEndUser(tx, { projectId: project, id: gone })
    assert.deepEqual(await insertMetadata(gateways.db, [doomed, other, unknown]), [
      { callId: doomed.callId, hasEndUser: true },
    ])
  })
  assert.deepEqual(await insertMetadata(gateways.db, [{ ...doomed, hadEndUser: true }]), [])
  assert.deepEqual(await Promise.all([doomed, other, unknown].map(isKept)), [false, true, true])
})

test('metadata that is being written when its end user is erased goes with them', async () => {
  const endUserId = await addEndUser()
  const call = callOf({ endUserId })
  let erasing: Promise<boolean> | undefined
  await inTransaction(gateways.db, async (tx) => {
    await insertMetadata(tx, [call])
    erasing = eraseEndUser(endUserId)
    await untilSomebodyWaits()
  })
  assert.equal(await erasing, true)
  assert.equal(await isKept(call), false)
})

test('an end user who is only noted again keeps nobody waiting', async () => {
  const endUserId = await addEndUser()
  const call = callOf({ endUserId })
  await inTransaction(world.store.db, async (tx) => {
    await noteEndUsers(tx, [{ projectId: project, id: endUserId, label: 'Ada', at: new Date() }])
    assert.deepEqual(await insertMetadata(gateways.db, [call]), [])
  })
  assert.equal(await isKept(call), true)
})

/** As a gateway records it, with what it logs. */
function openRecorder(givenUpAfterMs?: number) {
  const lines: string[] = []
  const metrics = createMetrics()
  const log = createLog('info', { write: (line) => lines.push(line) })
  const recorder = createCallMetadata({ db: gateways.db, log, metrics, ...(givenUpAfterMs && { givenUpAfterMs }) })
  const record = ({ callId: id, conversationId, endUserId }: CallMetadata) =>
    recorder.record({
      id,
      requestId: `request ${id}`,
      caller: { projectId: project, contentRetentionDays: 30 },
      body: { metadata: { plan: 'free' } },
      conversationId,
      progress: { endUserId },
    } as unknown as Call)
  const dropped = async () => (await metrics.metadataDropped.get()).values[0]?.value ?? 0
  return { record, idle: () => recorder.idle(), lines: () => lines.map((line) => JSON.parse(line)), dropped }
}

test('a long transaction on one conversation holds up its own metadata alone, which follows when it ends', async () => {
  const { record, idle, lines, dropped } = openRecorder()
  const own = Array.from({ length: 3 }, () => callOf({ conversationId: 'long' }))
  const others = Array.from({ length: 200 }, (_, n) => callOf({ conversationId: `neighbour ${n}` }))
  await converse('long')
  await inTransaction(world.store.db, async (tx) => {
    await sql`select from conversations where project_id = ${project} and id = 'long' for update`.execute(tx)
    for (const call of [...own, ...others]) record(call)
    await until(async () => (await Promise.all(others.slice(-1).map(isKept))).every(Boolean))
    assert.deepEqual(await Promise.all(own.map(isKept)), [false, false, false])
  })
  await idle()
  assert.deepEqual(await Promise.all(own.map(isKept)), [true, true, true])
  assert.deepEqual([lines(), await dropped()], [[], 0])
})

test('metadata of an end user who is erased meanwhile is left out in silence', async () => {
  const { record, idle, lines, dropped } = openRecorder()
  const endUserId = await addEndUser()
  const call = callOf({ endUserId })
  await inTransaction(world.store.db, async (tx) => {
    await deleteEndUser(tx, { projectId: project, id: endUserId })
    record(call)
    await sleep(200)
  })
  await idle()
  assert.equal(await isKept(call), false)
  assert.deepEqual([lines(), await dropped()], [[], 0])
})

test('metadata that is given up is counted, and the log says why: a lock that stays, or what the store answered', async (t) => {
  const { record, idle, lines, dropped } = openRecorder(300)
  const locked = callOf({ conversationId: await converse('locked') })
  await inTransaction(world.store.db, async (tx) => {
    await sql`select from conversations where project_id = ${project} and id = 'locked' for update`.execute(tx)
    record(locked)
    await idle()
  })
  const { db } = world.store
  await sql`create function no_space() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`.execute(db)
  await sql`create trigger no_space before insert on call_metadata for each row execute function no_space()`.execute(db)
  t.after(() => sql`drop function no_space cascade`.execute(db))
  const full = callOf({})
  record(full)
  await idle()
  const common = { level: 'warn', time: undefined, msg: 'metadata not recorded' }
  assert.deepEqual(
    lines().map((line) => ({ ...line, time: undefined })),
    [
      { ...common, requestId: `request ${locked.callId}`, error: 'StillLocked', errorCode: '55P03' },
      {
        ...common,
        requestId: `request ${full.callId}`,
        error: 'LaneTimeout',
        errorCode: '53100',
        problem: "the database's disk is full",
      },
    ],
  )
  assert.equal(await dropped(), 2)
})
