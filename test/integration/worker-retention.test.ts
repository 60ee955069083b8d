import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/rules/durations.ts'
import { KEPT_DAYS, KEPT_MS } from '../../src/rules/retention.ts'
import { deleteConversation, findConversations, recordTurn } from '../../src/store/calls/conversations.ts'
import { addRefusedRequests } from '../../src/store/calls/refused-requests.ts'
import type { Store } from '../../src/store/database.ts'
import { archiveProject } from '../../src/store/projects/projects.ts'
import { addBrowserSession } from '../support/browser-sessions.ts'
import { addSettledCall } from '../support/ledger.ts'
import { addShop } from '../support/feeds.ts'
import { refusalOf } from '../support/refused-requests.ts'
import { at, createWorkerWorld, erasedBy, erasedRows, PERIODS_MS, type WorkerWorld } from '../support/worker-world.ts'

/**
 * Rows that are erased by their age, each with one just past the edge and one just before it, under the worker's own login.
 * test/integration/simulated-year.test.ts has all of them together.
 */

let world: WorkerWorld
let store: Store
before(async () => {
  world = await createWorkerWorld()
  store = world.store
})
after(() => world.close())

const CONVERSATIONS_MS = KEPT_DAYS.conversations * DAY_MS
/** By how much a row is past the edge, or before it. */
const A_MOMENT_MS = MINUTE_MS

function turnOf(name: keyof typeof PERIODS_MS): Promise<void> {
  return world.pass(name, PERIODS_MS[name])
}

function idOfAge(ageMs: number): string {
  return uuidv7(Date.now() - ageMs)
}

interface Talk {
  calledAgoMs: number
  /** The time until the text of each of its messages is erased. Undefined: the messages have no text. */
  textGoesInMs?: number
  messages?: number
}

async function addConversation(projectId: string, id: string, talk: Talk): Promise<void> {
  const age = at(-talk.calledAgoMs)
  const conversation = { project_id: projectId, id, created_at: age, last_call_at: age, calls: 1 }
  await store.db.insertInto('conversations').values(conversation).execute()
  const content = talk.textGoesInMs === undefined ? null : JSON.stringify({ content: id })
  await sql`insert into messages (project_id, conversation_id, digest, occurrence, role, content, call_id, created_at, content_expires_at)
    select ${projectId}, ${id}, decode(md5(n::text), 'hex'), 1, 'user', ${content}, ${uuidv7()}, ${age},
      now() + ${talk.textGoesInMs ?? null}::float8 * interval '1 ms'
    from generate_series(1, ${talk.messages ?? 1}) as n`.execute(store.db)
  const sums = { calls: 1n, input_tokens: 1n, output_tokens: 1n, charged_nanos: 1n }
  await store.db
    .insertInto('conversation_sums')
    .values({ project_id: projectId, conversation_id: id, ...sums })
    .execute()
}

/** The conversations of a project, those with messages, and those with sums. */
async function leftOf(projectId: string): Promise<string[][]> {
  const { rows } = await sql<{ ids: string[] }>`
    select array(select id from conversations where project_id = ${projectId} order by 1) as ids union all
    select array(select distinct conversation_id from messages where project_id = ${projectId} order by 1) union all
    select array(select conversation_id from conversation_sums where project_id = ${projectId} order by 1)`.execute(
    store.db,
  )
  return rows.map(({ ids }) => ids)
}

test('a conversation goes 90 days after its last call, or when its project has promised to keep text no longer', async () => {
  const [usual, patient] = [await world.newProject(), await world.newProject()]
  const keepsFor = { content_retention_days: 200 }
  await store.db.updateTable('projects').set(keepsFor).where('id', '=', patient.id).execute()
  await addConversation(usual.id, 'past', { calledAgoMs: CONVERSATIONS_MS + A_MOMENT_MS, messages: 2_500 })
  await addConversation(usual.id, 'kept', { calledAgoMs: CONVERSATIONS_MS - A_MOMENT_MS })
  const promised = { calledAgoMs: CONVERSATIONS_MS + A_MOMENT_MS, textGoesInMs: A_MOMENT_MS }
  await addConversation(usual.id, 'promised', promised)
  await addConversation(patient.id, 'past', { calledAgoMs: 200 * DAY_MS + A_MOMENT_MS })
  await addConversation(patient.id, 'kept', { calledAgoMs: 200 * DAY_MS - A_MOMENT_MS })
  const messagesBefore = await erasedRows(world, 'messages')
  await turnOf('forget conversations')
  const usuals = ['kept', 'promised']
  assert.deepEqual(await leftOf(usual.id), [usuals, usuals, usuals])
  assert.deepEqual(await leftOf(patient.id), [['kept'], ['kept'], ['kept']])
  assert.equal(await erasedRows(world, 'conversations'), 2)
  assert.equal((await erasedRows(world, 'messages')) - messagesBefore, 2_501)
})

test('a conversation that was forgotten begins anew with its next call', async () => {
  const { id } = await world.newProject()
  await addConversation(id, 'again', { calledAgoMs: CONVERSATIONS_MS + A_MOMENT_MS })
  await turnOf('forget conversations')
  assert.deepEqual(await leftOf(id), [[], [], []])
  const conversation = { projectId: id, id: 'again' }
  await recordTurn(store.db, { conversation, callId: uuidv7(), messages: [], retentionDays: 30 })
  const rows = await store.db.selectFrom('conversations').select('calls').where('project_id', '=', id).execute()
  assert.deepEqual(rows, [{ calls: 1 }])
})

test('the id of a deleted conversation stays, however old, until its project has ended', async () => {
  const { id } = await world.newProject()
  const key = { projectId: id, id: 'deleted' }
  await addConversation(id, 'deleted', { calledAgoMs: 5 * CONVERSATIONS_MS })
  assert.ok(await deleteConversation(store.db, key))
  await sql`update conversations set deleted_at = ${at(-4 * CONVERSATIONS_MS)} where project_id = ${id}`.execute(
    store.db,
  )
  const isRemembered = async (archivedAgoMs?: number) => {
    const archived_at = archivedAgoMs === undefined ? null : at(-archivedAgoMs)
    await store.db.updateTable('projects').set({ archived_at }).where('id', '=', id).execute()
    await turnOf('forget conversations')
    return (await findConversations(store.db, [key]))[0]?.isDeleted
  }
  assert.equal(await isRemembered(), true)
  assert.equal(await isRemembered(CONVERSATIONS_MS - A_MOMENT_MS), true)
  assert.equal(await isRemembered(CONVERSATIONS_MS + A_MOMENT_MS), false)
})

test('in a conversation that goes on for years, what was said over a year ago goes, once its text is gone', async () => {
  const { id } = await world.newProject()
  await addConversation(id, 'long', { calledAgoMs: KEPT_MS.messages + DAY_MS, messages: 2_500 })
  await sql`update conversations set last_call_at = now() where project_id = ${id}`.execute(store.db)
  const message = (age: number, content: string | null) => ({
    project_id: id,
    conversation_id: 'long',
    digest: randomBytes(16),
    occurrence: 1,
    role: content ?? 'none',
    content: content === null ? null : JSON.stringify({ content }),
    call_id: uuidv7(),
    created_at: at(-age),
  })
  const messages = [
    message(KEPT_MS.messages - A_MOMENT_MS, null),
    message(KEPT_MS.messages + A_MOMENT_MS, 'text'),
    message(KEPT_MS.messages + A_MOMENT_MS, null),
  ]
  await store.db.insertInto('messages').values(messages).execute()
  await turnOf('forget messages')
  const left = store.db.selectFrom('messages').select('role').where('project_id', '=', id).orderBy('role')
  assert.deepEqual(await left.execute(), [{ role: 'none' }, { role: 'text' }])
  assert.deepEqual((await leftOf(id))[0], ['long'])
})

test('sums without a conversation go, unless it may still be on its way', async () => {
  const { id, keyPairId } = await world.newProject()
  for (const name of ['lost', 'deleted', 'there', 'late']) await addConversation(id, name, { calledAgoMs: 0 })
  await store.db.deleteFrom('conversations').where('project_id', '=', id).where('id', 'in', ['lost', 'late']).execute()
  await sql`update conversations set deleted_at = now() where project_id = ${id} and id = 'deleted'`.execute(store.db)
  await addSettledCall(store.db, {
    id: uuidv7(),
    projectId: id,
    keyPairId,
    charge: 0n,
    change: { conversationId: 'late', outcome: 'upstream_failed' },
  })
  await turnOf('forget conversation sums')
  assert.deepEqual((await leftOf(id))[2], ['late', 'there'])
})

test('a conversation that an older version has deleted loses its metadata and its opening, and no other does', async () => {
  const { id } = await world.newProject()
  const digest = Buffer.alloc(16, 7)
  const names = Array.from({ length: 1_200 }, (_, n) => `kept-${n}`).concat('deleted', 'removed')
  const opening = { opening_messages: 2, opening_digest: digest }
  await store.db
    .insertInto('conversations')
    .values(names.map((name) => ({ project_id: id, id: name, calls: 1, ...opening })))
    .execute()
  await sql`insert into call_metadata (project_id, call_id, key, value, conversation_id, expires_at)
    select ${id}, gen_random_uuid(), 'k', 'v', c.name, now() + interval '1 day'
    from (values ('deleted', 2500), ('removed', 1), ('kept-7', 2), ('never-stored', 3)) as c (name, calls),
      generate_series(1, c.calls)`.execute(store.db)
  // As the version before migration 0031 deletes one.
  await sql`update conversations set deleted_at = now(), calls = 0
    where project_id = ${id} and id in ('deleted', 'removed')`.execute(store.db)
  const before = await erasedRows(world, 'call_metadata')
  await turnOf('erase leftovers')
  const { rows } = await sql`select conversation_id as name, count(*)::int as rows from call_metadata
    where project_id = ${id} group by 1 order by 1`.execute(store.db)
  assert.deepEqual(rows, [
    { name: 'kept-7', rows: 2 },
    { name: 'never-stored', rows: 3 },
  ])
  assert.equal((await erasedRows(world, 'call_metadata')) - before, 2_501)
  const open = store.db.selectFrom('conversations').select('id').where('project_id', '=', id)
  const withOpening = await open.where('opening_digest', 'is not', null).where('opening_messages', '=', 2).execute()
  assert.equal(withOpening.length, 1_200)
  assert.ok(withOpening.every(({ id: name }) => name.startsWith('kept')))
  const known = await findConversations(store.db, [{ projectId: id, id: 'deleted' }])
  assert.deepEqual(known, [{ isDeleted: true, opening: undefined }], 'its id still answers 404')
  await store.db.deleteFrom('call_metadata').where('project_id', '=', id).execute()
})

test('mails go after 30 days, whatever became of them', async () => {
  const mail = (template: string, ageMs: number, sent: boolean) => ({
    id: idOfAge(ageMs),
    recipient: 'somebody@example.com',
    template,
    sent_at: sent ? at(-ageMs) : null,
    next_attempt_at: at(DAY_MS),
  })
  const keptMs = KEPT_DAYS.mails * DAY_MS
  const mails = [
    mail('sent_past', keptMs + A_MOMENT_MS, true),
    mail('sent_kept', keptMs - A_MOMENT_MS, true),
    mail('waits_past', keptMs + A_MOMENT_MS, false),
    mail('waits_kept', keptMs - A_MOMENT_MS, false),
  ]
  await store.db.insertInto('mails').values(mails).execute()
  assert.deepEqual(await erasedBy(world, 'forget mails', 'mails', 'template'), {
    before: ['sent_kept', 'sent_past', 'waits_kept', 'waits_past'],
    after: ['sent_kept', 'waits_kept'],
    counted: 2,
  })
})

test('invitations go 30 days after they have ended', async () => {
  const { publisherId, owner } = await world.newProject()
  const invitation = (email: string, expires_at: ReturnType<typeof at>) => {
    return { id: uuidv7(), publisher_id: publisherId, email, role: 'viewer', expires_at }
  }
  const invitations = [
    invitation('past@example.com', at(-KEPT_MS.invitations - A_MOMENT_MS)),
    invitation('kept@example.com', at(-KEPT_MS.invitations + A_MOMENT_MS)),
  ].map((each) => ({ ...each, invited_by: 'Owner', inviter_id: owner.id }))
  await store.db.insertInto('invitations').values(invitations).execute()
  assert.deepEqual(await erasedBy(world, 'forget invitations', 'invitations', 'email'), {
    before: ['kept@example.com', 'past@example.com'],
    after: ['kept@example.com'],
    counted: 1,
  })
})

test('usage by hour goes when it is only asked for by day, and usage by day stays', async () => {
  const { id } = await world.newProject()
  const rows = [KEPT_MS.usageHours + HOUR_MS, KEPT_MS.usageHours - HOUR_MS].map((ageMs) => usageAt(id, ageMs))
  for (const table of ['usage_hours', 'usage_days'] as const) await store.db.insertInto(table).values(rows).execute()
  const { after, counted } = await erasedBy(world, 'forget usage hours', 'usage_hours', 'calls')
  assert.deepEqual([after, counted], [[String(KEPT_MS.usageHours - HOUR_MS)], 1])
  const days = store.db.selectFrom('usage_days').select('calls').where('project_id', '=', id)
  assert.equal((await days.execute()).length, 2)
})

function usageAt(projectId: string, ageMs: number) {
  const zeros = Object.fromEntries(USAGE_COLUMNS.map((column) => [column, 0n])) as Record<UsageColumn, bigint>
  const counts = { outcomes: [], statuses: [], first_tokens: [], durations: [] }
  const key = { project_id: projectId, starts_at: at(-ageMs), model_id: 'm', key_pair_id: projectId }
  return { ...key, price_version_id: 1n, ...zeros, calls: BigInt(ageMs), ...counts }
}

const USAGE_COLUMNS = [
  'streamed',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'charged_nanos',
  'billed_calls',
  'billed_worth_nanos',
  'billed_input_tokens',
  'billed_cached_input_tokens',
  'billed_cache_write_tokens',
  'billed_output_tokens',
  'billed_reasoning_tokens',
] as const
type UsageColumn = (typeof USAGE_COLUMNS)[number]

test('sums of offers by month are forgotten when none of their days is told any more', async () => {
  const shop = await addShop(store.db, 'Months')
  const kept = new Date(Date.now() - KEPT_MS.advertiserDays)
  const monthOf = (change: number) =>
    new Date(Date.UTC(kept.getUTCFullYear(), kept.getUTCMonth() + change, 1)).toISOString().slice(0, 10)
  for (const change of [-1, 0])
    await sql`insert into advertiser_offer_months (advertiser_id, month, offer_id, campaign_id, served_until)
      values (${shop.advertiserId}, ${monthOf(change)}, ${uuidv7()}, ${shop.campaignId}, array_fill(1, array[31]))`.execute(
      store.db,
    )
  assert.deepEqual(await erasedBy(world, 'forget advertiser days', 'advertiser_offer_months', 'month'), {
    before: [monthOf(-1), monthOf(0)],
    after: [monthOf(0)],
    counted: 1,
  })
})

test('metadata goes when it was promised to, whatever its project wants since, and earlier when it wants less', async () => {
  const keeping = async (days: number) => {
    const { id } = await world.newProject()
    await store.db.updateTable('projects').set({ content_retention_days: days }).where('id', '=', id).execute()
    return id
  }
  await addMetadata(await keeping(200), {
    'promised, due': [30 * DAY_MS, -A_MOMENT_MS],
    'promised, not due': [29 * DAY_MS, A_MOMENT_MS],
    'old, not due': [200 * DAY_MS - A_MOMENT_MS, A_MOMENT_MS],
    'too old': [200 * DAY_MS + A_MOMENT_MS, DAY_MS],
  })
  await addMetadata(await keeping(7), {
    'shortened, older': [7 * DAY_MS + A_MOMENT_MS, 20 * DAY_MS],
    'shortened, younger': [7 * DAY_MS - A_MOMENT_MS, 20 * DAY_MS],
  })
  await addMetadata(await keeping(0), { 'none any more': [A_MOMENT_MS, 20 * DAY_MS] })
  const promised = ['promised, due', 'promised, not due']
  assert.deepEqual(await erasedBy(world, 'expire content', 'call_metadata', 'value'), {
    before: ['none any more', 'old, not due', ...promised, 'shortened, older', 'shortened, younger', 'too old'],
    after: ['old, not due', 'promised, not due', 'shortened, younger'],
    counted: 4,
  })
})

test('a deleted project has no metadata a minute later', async () => {
  const { id } = await world.newProject()
  await addMetadata(id, Object.fromEntries(Array.from({ length: 3 }, (_, n) => [`deleted ${n}`, [n + 1, DAY_MS]])))
  await archiveProject(store.db, id)
  const { after: left } = await erasedBy(world, 'expire content', 'call_metadata', 'value')
  assert.deepEqual(
    left.filter((value) => value.startsWith('deleted')),
    [],
  )
})

test('a browser session is forgotten a day after its end, with its budget', async () => {
  const { id: projectId, keyPairId } = await world.newProject()
  for (const [secretLast4, endedMs] of [
    ['past', DAY_MS + A_MOMENT_MS],
    ['kept', DAY_MS - A_MOMENT_MS],
    ['live', -A_MOMENT_MS],
  ] as const) {
    const id = await addBrowserSession(store.db, { projectId, keyPairId }, { secretLast4 })
    await sql`update browser_sessions set created_at = ${at(-endedMs - A_MOMENT_MS)}, expires_at = ${at(-endedMs)}
      where id = ${id}`.execute(store.db)
  }
  assert.deepEqual(await erasedBy(world, 'forget browser sessions', 'browser_sessions', 'secret_last4'), {
    before: ['kept', 'live', 'past'],
    after: ['kept', 'live'],
    counted: 1,
  })
  const budgets = store.db.selectFrom('limits').select('subject').where('project_id', '=', projectId)
  assert.equal((await budgets.execute()).length, 2)
})

test('which fields were ignored is forgotten after 30 days', async () => {
  const { id } = await world.newProject()
  for (const days of [31, 30, 0])
    await store.db
      .insertInto('ignored_fields')
      .values({
        project_id: id,
        day: sql`(now() at time zone 'utc')::date - ${days}::int`,
        name: `${days} days ago`,
        times: 1n,
        last_at: at(0),
      })
      .execute()
  assert.deepEqual(await erasedBy(world, 'forget ignored fields', 'ignored_fields', 'name'), {
    before: ['0 days ago', '30 days ago', '31 days ago'],
    after: ['0 days ago', '30 days ago'],
    counted: 1,
  })
})

test('a refused request is forgotten after 14 days, and at once when its project is deleted', async () => {
  const { id: projectId, keyPairId } = await world.newProject()
  const { id: deletedId, keyPairId: deletedPairId } = await world.newProject()
  const old = (ageMs: number) => ({ lastAt: new Date(Date.now() - ageMs) })
  const past = refusalOf({ projectId, keyPairId }, old(KEPT_MS.refusedRequests + A_MOMENT_MS))
  const kept = refusalOf({ projectId, keyPairId }, old(KEPT_MS.refusedRequests - A_MOMENT_MS))
  const deleted = refusalOf({ projectId: deletedId, keyPairId: deletedPairId })
  await addRefusedRequests(store.db, [past, kept, deleted])
  await archiveProject(store.db, deletedId)
  assert.deepEqual(await erasedBy(world, 'forget refused requests', 'refused_requests', 'id'), {
    before: [past.id, kept.id, deleted.id],
    after: [kept.id],
    counted: 2,
  })
})

/** Adds one pair to each of several calls, given by age, with the time when it is due. */
async function addMetadata(projectId: string, goesIn: Record<string, [ageMs: number, inMs: number]>): Promise<void> {
  for (const [value, [ageMs, inMs]] of Object.entries(goesIn))
    await store.db
      .insertInto('call_metadata')
      .values({ project_id: projectId, call_id: idOfAge(ageMs), key: 'k', value, expires_at: at(inMs) })
      .execute()
}
