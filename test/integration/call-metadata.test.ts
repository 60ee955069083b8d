import assert from 'node:assert/strict'
import { createHash, randomInt } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { completionIdOf } from '../../src/rules/billing/receipts.ts'
import type { MetadataPair } from '../../src/rules/calls/metadata.ts'
import { deleteConversation, recordTurn } from '../../src/store/calls/conversations.ts'
import { noteEndUsers } from '../../src/store/calls/end-users.ts'
import { findMetadata, insertMetadata, type CallMetadata } from '../../src/store/calls/metadata.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'
import { addSettledCall } from '../support/ledger.ts'
import { addKeyPair } from '../support/world.ts'

/** Metadata that publishers send with their calls: how it is stored, erased, and found again in the console. */

let world: ConsoleWorld
let person: Person
let project: string
let keyPairId: string
before(async () => {
  world = await createConsoleWorld()
  person = await newPerson(world)
  project = await newProject(person)
  await addKeyPair(world.store, world.secrets, project)
  const keys = world.store.db.selectFrom('key_pairs').select('id').where('project_id', '=', project)
  keyPairId = (await keys.executeTakeFirstOrThrow()).id
})
after(() => world.close())

const pairsOf = (record: Record<string, string>): MetadataPair[] =>
  Object.entries(record).map(([key, value]) => ({ key, value }))

async function addCall(pairs: Record<string, string>, more: Partial<CallMetadata> & { charge?: bigint } = {}) {
  const { charge, ...owner } = more
  const callId = uuidv7()
  const change = { conversationId: owner.conversationId }
  await addSettledCall(world.store.db, { id: callId, projectId: project, keyPairId, charge, change })
  const nobody = { conversationId: undefined, endUserId: undefined }
  await insertMetadata(world.store.db, [
    { projectId: project, callId, ...nobody, retentionDays: 30, pairs: pairsOf(pairs), ...owner },
  ])
  return callId
}

async function metadataOf(callId: string): Promise<MetadataPair[] | undefined> {
  return (await findMetadata(world.store.db, project, [callId])).get(callId)
}

const converse = (id: string) =>
  recordTurn(world.store.db, {
    conversation: { projectId: project, id },
    callId: uuidv7(),
    messages: [],
    retentionDays: 1,
  })

async function listed(search: string): Promise<string[]> {
  const { body } = await must(person.send(`GET /api/projects/${project}/calls?${search}`))
  return body.items.map(({ id }: { id: string }) => id)
}

test('a call’s page has its metadata by key, and a call without any has none', async () => {
  const id = await addCall({ plan: 'free', order: 'A-17', note: '' })
  const bare = await addCall({})
  const pageOf = async (call: string) =>
    (await must(person.send(`GET /api/projects/${project}/calls/${completionIdOf(call, 'chat')}`))).body.metadata
  assert.deepEqual(await pageOf(id), pairsOf({ note: '', order: 'A-17', plan: 'free' }))
  assert.deepEqual(await pageOf(bare), [])
})

test('the log is filtered by a pair, exactly, alone and beside other filters', async () => {
  const dear = await addCall({ team: 'blue' }, { charge: 2_000_000_000n, conversationId: 'dear-talk' })
  const cheap = await addCall({ team: 'blue', Team: 'red' })
  await addCall({ team: 'bluer' })
  await addCall({ crew: 'blue' })
  const blue = 'metadata_key=team&metadata_value=blue'
  assert.deepEqual(await listed(blue), [completionIdOf(cheap, 'chat'), completionIdOf(dear, 'chat')])
  assert.deepEqual(await listed(`${blue}&min_cost=1`), [completionIdOf(dear, 'chat')])
  assert.deepEqual(await listed(`${blue}&conversation=dear-talk`), [completionIdOf(dear, 'chat')])
  assert.deepEqual(await listed(`${blue}&outcome=failed`), [])
  assert.deepEqual(await listed('metadata_key=team&metadata_value=blu'), [])
  assert.deepEqual(await listed('metadata_key=team&metadata_value=red'), [])
  assert.deepEqual(await listed('metadata_key=team&metadata_value='), [])
  assert.deepEqual(await listed(`${blue}&limit=1`), [completionIdOf(cheap, 'chat')])
  assert.deepEqual(await listed(`${blue}&limit=1&after=${cheap}`), [completionIdOf(dear, 'chat')])
})

test('half a pair is refused, by name, before a file begins', async () => {
  for (const path of ['calls', 'calls.csv'])
    for (const [half, missing] of [
      ['metadata_key=team', 'metadata_value'],
      ['metadata_value=blue', 'metadata_key'],
    ]) {
      const { status, body } = await person.send(`GET /api/projects/${project}/${path}?${half}`)
      assert.deepEqual([status, body.fields?.[0]?.path], [422, missing], JSON.stringify(body))
    }
})

test('the export has the metadata of each call, and no cell of it is a formula', async () => {
  await addCall({ export: 'yes', '=1+1': '=HYPERLINK("http://evil.example")', __proto__x: 'a' })
  await addCall({ export: 'yes' })
  const { text } = await must(
    person.send(`GET /api/projects/${project}/calls.csv?metadata_key=export&metadata_value=yes`),
  )
  const [header, second, first, ...rest] = text.trimEnd().split('\r\n')
  assert.deepEqual(rest, [])
  assert.match(String(header), /,charged \(USD\),endpoint,metadata$/)
  assert.ok(second?.endsWith(',"{""export"":""yes""}"'), second)
  const sent = JSON.stringify({ '=1+1': '=HYPERLINK("http://evil.example")', __proto__x: 'a', export: 'yes' })
  assert.ok(first?.endsWith(`,"${sent.replaceAll('"', '""')}"`), first)
})

test('the longest pairs there are can be stored and found', async () => {
  // Each character takes four bytes, and there is nothing to compress in them.
  const text = (length: number) =>
    Array.from({ length }, () => String.fromCodePoint(randomInt(0x10000, 0x10ffff))).join('')
  const [key, value] = [text(64), text(512)]
  const id = await addCall({ [key]: value })
  assert.deepEqual(await metadataOf(id), [{ key, value }])
  const search = new URLSearchParams({ metadata_key: key, metadata_value: value })
  assert.deepEqual(await listed(String(search)), [completionIdOf(id, 'chat')])
})

test('a long value is indexed by its digest, shown as it was, and found exactly, also where an older version wrote it', async () => {
  const long = `https://example.com/${'path/'.repeat(20)}`
  const digest = createHash('sha256').update(long).digest('base64url')
  const ours = await addCall({ page: long })
  const others = await addCall({ page: `${long}x` })
  const before = await addCall({})
  // As the version before writes it.
  await sql`insert into call_metadata (project_id, call_id, key, value, expires_at)
    values (${project}, ${before}, 'page', ${long}, now() + interval '1 day')`.execute(world.store.db)
  const impostor = await addCall({ page: digest })
  const shown = await Promise.all([ours, others, before, impostor].map(metadataOf))
  assert.deepEqual(
    shown.map((pairs) => pairs?.[0]?.value),
    [long, `${long}x`, long, digest],
  )
  const searchFor = (value: string) =>
    listed(String(new URLSearchParams({ metadata_key: 'page', metadata_value: value })))
  assert.deepEqual(
    await searchFor(long),
    [before, ours].map((each) => completionIdOf(each, 'chat')),
  )
  assert.deepEqual(
    await searchFor(digest),
    [impostor].map((each) => completionIdOf(each, 'chat')),
  )
  const { rows } = await sql`select value from call_metadata where call_id = ${ours}`.execute(world.store.db)
  assert.deepEqual(rows, [{ value: digest }], 'what the index has of it')
})

test('metadata goes with its conversation, and is not brought back by a call that ends later', async () => {
  await converse('doomed')
  await converse('other')
  const doomed = await addCall({ a: '1', b: '2' }, { conversationId: 'doomed' })
  const other = await addCall({ a: '1' }, { conversationId: 'other' })
  assert.ok(await deleteConversation(world.store.db, { projectId: project, id: 'doomed' }))
  assert.equal(await metadataOf(doomed), undefined)
  assert.equal((await metadataOf(other))?.length, 1)
  const late = await addCall({ a: '1' }, { conversationId: 'doomed' })
  assert.equal(await metadataOf(late), undefined)
})

test('metadata goes with its end user, however many calls there were', async () => {
  const [gone, stays] = [uuidv7(), uuidv7()]
  await noteEndUsers(
    world.store.db,
    [gone, stays].map((id) => ({ projectId: project, id, label: undefined, at: new Date() })),
  )
  const other = await addCall({ a: '1' }, { endUserId: stays })
  await sql`insert into call_metadata (project_id, call_id, key, value, end_user_id, expires_at)
    select ${project}, id, key, 'v', ${gone}, now() + interval '1 day'
    from unnest(${Array.from({ length: 8_000 }, () => uuidv7())}::uuid[]) as id, unnest(array['a', 'b', 'c']) as key`.execute(
    world.store.db,
  )
  const left = async () => {
    const { rows } = await sql<{ rows: number }>`select count(*)::int as rows from call_metadata
      where end_user_id = ${gone}`.execute(world.store.db)
    return rows[0]?.rows
  }
  assert.equal(await left(), 24_000)
  await must(person.send(`DELETE /api/projects/${project}/end-users/${gone}`))
  assert.equal(await left(), 0)
  assert.equal((await metadataOf(other))?.length, 1)
})

test('metadata goes also with an end user who was forgotten meanwhile', async () => {
  const gone = uuidv7()
  const id = await addCall({ a: '1' }, { endUserId: gone })
  await must(person.send(`DELETE /api/projects/${project}/end-users/${gone}`))
  assert.equal(await metadataOf(id), undefined)
  assert.equal((await person.send(`DELETE /api/projects/${project}/end-users/${gone}`)).status, 404)
})

test('a stranger finds nothing by a pair that somebody else has', async () => {
  const id = await addCall({ secret: 'pair' })
  const stranger = await newPerson(world)
  const theirs = await newProject(stranger)
  const pair = 'metadata_key=secret&metadata_value=pair'
  const { body } = await must(stranger.send(`GET /api/projects/${theirs}/calls?${pair}`))
  assert.deepEqual(body.items, [])
  assert.equal((await stranger.send(`GET /api/projects/${theirs}/calls/${completionIdOf(id, 'chat')}`)).status, 404)
  assert.equal((await stranger.send(`GET /api/projects/${project}/calls?${pair}`)).status, 404)
})
