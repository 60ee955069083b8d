import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { after, before, test } from 'node:test'
import { createSecrets } from '../../src/platform/secrets.ts'
import {
  findConversation,
  listLatestConversations,
  listMessagesAfter,
} from '../../src/store/calls/conversation-pages.ts'
import type { Store } from '../../src/store/database.ts'
import { withTenant } from '../../src/store/tenancy.ts'
import { openExplained } from '../support/console-scale.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { addProject, type TestProject } from '../support/world.ts'

const CONVERSATIONS = 30_000
const LONG = 20_000
const PAGE = 50
let database: TestDatabase
let store: Store
let project: TestProject

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'pages test', statementTimeoutMs: 60_000 })
  project = await addProject(store, createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }]))
  await sql`insert into conversations (project_id, id, calls, last_call_at)
    select ${project.id}, 'talk-' || n, 2, now() - n * interval '1 second' from generate_series(1, ${CONVERSATIONS}::int) n`.execute(
    store.db,
  )
  await sql`insert into messages (project_id, conversation_id, digest, occurrence, role, content, call_id, content_expires_at)
    select ${project.id}, 'talk-' || n, decode(md5('m' || m), 'hex'), 1, case m when 1 then 'user' else 'assistant' end,
      json_build_object('content', 'said ' || n), gen_random_uuid(), now() + interval '1 day'
    from generate_series(1, ${CONVERSATIONS}::int) n, generate_series(1, 2) m`.execute(store.db)
  // The newest conversation is also a very long one.
  await sql`insert into messages (project_id, conversation_id, digest, occurrence, role, content, call_id, content_expires_at)
    select ${project.id}, 'talk-1', decode(md5('long' || n), 'hex'), 1, 'user', '{"content":"again"}', gen_random_uuid(), now()
    from generate_series(1, ${LONG}::int) n`.execute(store.db)
  await sql`vacuum analyze`.execute(store.db)
})
after(async () => {
  await store.close()
  await database.drop()
})

async function rowsRead(work: (tx: Parameters<typeof findConversation>[0]) => Promise<unknown>): Promise<number> {
  const { tenants, scans, close } = await openExplained(database.url)
  try {
    await withTenant(tenants, { publisherId: project.publisherId, projectId: project.id }, work)
    return scans
      .filter(({ relation }) => /conversations|messages/.test(relation))
      .reduce((sum, { rows }) => sum + rows, 0)
  } finally {
    await close()
  }
}

test('a page of the list reads about as many rows as it shows, however many and however long the conversations are', async () => {
  const first = await rowsRead(async (tx) => {
    const rows = await listLatestConversations(tx, project.id, { most: PAGE })
    assert.deepEqual(rows.map(({ id }) => id).slice(0, 2), ['talk-1', 'talk-2'])
    assert.equal(String(rows[0]?.messages), '1001', 'counting stops')
    assert.equal(rows[1]?.opening, 'said 2')
  })
  assert.ok(first < 2_000, `${first} rows for the first page`)
  const middle = await store.db
    .selectFrom('conversations')
    .select(['id', sql<bigint>`(extract(epoch from last_call_at) * 1000000)::int8`.as('lastCallUs')])
    .where('id', '=', `talk-${CONVERSATIONS / 2}`)
    .executeTakeFirstOrThrow()
  const deep = await rowsRead(async (tx) => {
    const rows = await listLatestConversations(tx, project.id, { most: PAGE, after: middle })
    assert.equal(rows[0]?.id, `talk-${CONVERSATIONS / 2 + 1}`)
  })
  assert.ok(deep < 1_000, `${deep} rows for a page in the middle`)
})

test('one conversation and a page of its messages read no more than that', async () => {
  const key = { projectId: project.id, id: 'talk-1' }
  const read = await rowsRead(async (tx) => {
    assert.equal((await findConversation(tx, key))?.opening, 'said 1')
    const [first] = await listMessagesAfter(tx, key, 0n, PAGE)
    assert.equal((await listMessagesAfter(tx, key, first?.seq ?? 0n, PAGE)).length, PAGE)
  })
  assert.ok(read < 2_000, `${read} rows`)
})

test('a whole id is found whatever its age', async () => {
  const found = await listLatestConversations(store.db, project.id, { search: `talk-${CONVERSATIONS}`, most: 10 })
  assert.deepEqual(
    found.map(({ id }) => id),
    [`talk-${CONVERSATIONS}`],
  )
})
