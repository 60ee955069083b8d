import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createSecrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { insertPublisher } from '../../src/store/accounts/publishers.ts'
import type { Store } from '../../src/store/database.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { changesBetween, openCamera } from '../support/picture.ts'

let database: TestDatabase
let store: Store
before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'picture test' })
})
after(async () => {
  await store.close()
  await database.drop()
})

const [KEPT, RENAMED, DELETED, LATE] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()]
const publisher = (id: string) => ({ id, name: 'Before', email: null, activatedAt: null })

test('two pictures differ by what was written, changed and deleted between them, also by who began before the first', async () => {
  const { db } = store
  const takePicture = await openCamera(db, createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }]))
  await takePicture()
  const late = await db.startTransaction().execute()
  await insertPublisher(late, publisher(LATE))
  for (const id of [KEPT, RENAMED, DELETED]) await insertPublisher(db, publisher(id))
  const first = await takePicture()
  await late.commit().execute()
  await db.updateTable('publishers').set({ name: 'After' }).where('id', '=', RENAMED).execute()
  await db.deleteFrom('publishers').where('id', '=', DELETED).execute()

  const second = await takePicture()
  const changes = changesBetween(first, second) as Record<string, Record<string, unknown>>[]
  assert.deepEqual(
    changes.map((change) => Object.entries(change).map(([what, row]) => [what, row.id ?? row.name])),
    [[['+ publishers', LATE]], [['= publishers', ['Before', 'After']]], [['- publishers', DELETED]]],
  )
  assert.deepEqual(changesBetween(second, await takePicture()), [])
})
