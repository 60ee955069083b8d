import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { MINUTE_MS } from '../../src/rules/durations.ts'
import { deleteConversation } from '../../src/store/calls/conversations.ts'
import { deleteEndUser } from '../../src/store/calls/end-users.ts'
import { insertPrice, upsertModel } from '../../src/store/catalogue/models.ts'
import { inTransaction, type Store } from '../../src/store/database.ts'
import { rollUpUsage } from '../../src/worker/roll-up-usage.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { addSettledCall } from '../support/ledger.ts'
import { fillSite, newSite, SHARED } from '../support/sites.ts'
import { PRICE, until } from '../support/world.ts'

/** Tables that are erased with a conversation or an end user: decide it here for a new table, too. */

const ERASED = {
  conversation_id: ['call_metadata', 'conversation_sums', 'idempotency_keys', 'message_words', 'messages'],
  end_user_id: ['call_metadata', 'end_user_days'],
}
type Column = keyof typeof ERASED

const KEPT: Record<Column, Record<string, string>> = {
  conversation_id: { calls: 'append-only; nothing is left that the id could lead to' },
  end_user_id: {
    browser_sessions: 'a digest; forgotten with the session, a day after its hour at the latest',
    calls: 'append-only; it is a digest, which leads to nobody',
    end_user_erasures: 'for some days: what keeps them from coming back',
    holds: 'until the call has ended',
  },
}

let database: TestDatabase
let store: Store
const sites = { conversation_id: newSite('one', uuidv7(), 1), end_user_id: newSite('other', uuidv7(), 1) }

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'erasure test' })
  const { db } = store
  for (const site of Object.values(sites)) {
    const { name, userId } = site
    await db
      .insertInto('users')
      .values({ id: userId, name, email: `${name}@example.org` })
      .execute()
    const model = { id: `model-of-${name}`, ownedBy: name, contextWindow: 1_000, maxOutputTokens: 100 }
    await upsertModel(db, { ...model, figures: undefined })
    await insertPrice(db, { modelId: model.id, ...PRICE, effectiveFrom: new Date() })
    await fillSite(db, site)
  }
  await until(async () => {
    await rollUpUsage({ db, signal: new AbortController().signal, marginMs: 0 })
    return (await db.selectFrom('conversation_sums').select('project_id').execute()).length === 2
  })
})
after(async () => {
  await store.close()
  await database.drop()
})

for (const column of ['conversation_id', 'end_user_id'] as const)
  test(`whether erasing reaches it was decided of every table with ${column}`, async () => {
    const { rows } = await sql<{ name: string }>`
      select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
      where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
        and a.attname = ${column}`.execute(store.db)
    const decided = [...ERASED[column], ...Object.keys(KEPT[column])]
    assert.deepEqual(rows.map(({ name }) => name).toSorted(), decided.toSorted())
  })

/** The tables in which there is something of one, of those from which it is to go. */
async function tablesNaming(column: Column, id: string): Promise<string[]> {
  const found = await Promise.all(
    ERASED[column].map(async (table) => {
      const { rows } = await sql`select from ${sql.table(table)} where project_id = ${sites[column].projectId}
        and ${sql.ref(column)}::text = ${id} limit 1`.execute(store.db)
      return rows.length > 0 ? [table] : []
    }),
  )
  return found.flat()
}

test('nothing that is to go is left of a conversation or an end user that was erased', async () => {
  const { conversation_id: one, end_user_id: other } = sites
  for (const [column, id, erase] of [
    [
      'conversation_id',
      SHARED.conversation,
      () => deleteConversation(store.db, { projectId: one.projectId, id: SHARED.conversation }),
    ],
    [
      'end_user_id',
      other.endUserId,
      () => inTransaction(store.db, (tx) => deleteEndUser(tx, { projectId: other.projectId, id: other.endUserId })),
    ],
  ] as const) {
    assert.deepEqual(await tablesNaming(column, id), ERASED[column], 'there is something to erase')
    assert.ok(await erase())
    assert.deepEqual(await tablesNaming(column, id), [])
  }
})

test('a call that was made before an erasure and is added up after it is added up for nobody', async () => {
  const { db } = store
  const { name, projectId, keyPairId, endUserId } = sites.end_user_id
  const call = { projectId, keyPairId, modelId: `model-of-${name}` }
  await addSettledCall(db, { ...call, id: uuidv7(Date.now() - MINUTE_MS), endUserId })
  const somebodyElse = uuidv7()
  await addSettledCall(db, { ...call, id: uuidv7(), endUserId: somebodyElse })
  const days = db.selectFrom('end_user_days').select('end_user_id').where('project_id', '=', projectId)
  await until(async () => {
    await rollUpUsage({ db, signal: new AbortController().signal, marginMs: 0 })
    return (await days.execute()).length > 0
  })
  assert.deepEqual(await days.execute(), [{ end_user_id: somebodyElse }])
})
