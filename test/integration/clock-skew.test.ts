import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createSecrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Store } from '../../src/store/database.ts'
import type { Ledger } from '../../src/store/billing/ledger/ledger.ts'
import { sweepHolds } from '../../src/store/billing/wallets.ts'
import { HOUR_MS, MINUTE_MS } from '../../src/rules/durations.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { auditOf, createTestLedger, settlementOf } from '../support/ledger.ts'
import { addProject, walletOf, type TestProject } from '../support/world.ts'

let database: TestDatabase
let store: Store
let ledger: Ledger
let project: TestProject
let keyPairId: string

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'clock test' })
  ledger = createTestLedger(store.ledgerPool)
  project = await addProject(store, createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }]))
  const keyPair = store.db.selectFrom('key_pairs').select('id').where('project_id', '=', project.id)
  keyPairId = (await keyPair.executeTakeFirstOrThrow()).id
})
after(async () => {
  await store.close()
  await database.drop()
})

/** As by a gateway whose clock is off by so much. */
async function hold(offByMs: number): Promise<string> {
  const callId = uuidv7(Date.now() + offByMs)
  const asked = { projectId: project.id, keyPairId, modelId: 'm', priceVersion: 1n, want: 100n, min: 100n }
  await ledger.hold({ ...asked, callId, hasIdempotencyKey: false })
  return callId
}

test('a clock that is up to a day and a half off changes nothing', async () => {
  for (const offByMs of [-36 * HOUR_MS + MINUTE_MS, -HOUR_MS, HOUR_MS, 36 * HOUR_MS - MINUTE_MS]) {
    const callId = await hold(offByMs)
    assert.equal(await ledger.settle(settlementOf(callId, project.id, 100n)), 100n)
  }
})

test('a gateway whose clock is further off is refused, before a hold that could never be settled', async () => {
  const before = await walletOf(store, project.id)
  const edgeMs = 36 * HOUR_MS + MINUTE_MS
  for (const offByMs of [-Date.now(), -edgeMs, edgeMs, 10_000 * 24 * HOUR_MS]) {
    await assert.rejects(hold(offByMs), {
      code: 'store_unavailable',
      status: 503,
      options: { retryAfterSeconds: 2, details: { ledger: 'clock_wrong' } },
    })
  }
  assert.deepEqual(await walletOf(store, project.id), before)
  await hold(0)
  assert.equal(await sweepHolds(store.db, 0, HOUR_MS, 10), 1, 'and the holds of the others can still be swept')
  assert.deepEqual(await auditOf(store), [])
})
