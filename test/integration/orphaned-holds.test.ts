import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { createLease } from '../../src/gateway/lease.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { findReceipt } from '../../src/store/billing/receipts.ts'
import type { Store } from '../../src/store/database.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { createTestLedger } from '../support/ledger.ts'
import { CALL_ENDPOINTS, endpointOf, type CallEndpointName } from '../../src/rules/endpoints.ts'
import { addModel, addProject, addProvider, walletOf } from '../support/world.ts'

let database: TestDatabase
let store: Store
before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'orphans test' })
})
after(async () => {
  await store.close()
  await database.drop()
})

test('a hold that no call has any more is given back after ten seconds, however many long calls are running', async () => {
  const gatewayId = uuidv7()
  const ledgerOf = (id: string) => createTestLedger(store.ledgerPool, id)
  const ledger = ledgerOf(gatewayId)
  const project = await addProject(store, createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }]))
  const keyPair = store.db.selectFrom('key_pairs').select('id').where('project_id', '=', project.id)
  const { id: keyPairId } = await keyPair.executeTakeFirstOrThrow()
  const calls = Array.from({ length: 300 }, () => uuidv7())
  const asked = { projectId: project.id, keyPairId, modelId: 'm', priceVersion: 1n, want: 100n, min: 100n }
  await Promise.all(calls.map((callId) => ledger.hold({ ...asked, callId, hasIdempotencyKey: false })))
  const [elsewhere, young] = [uuidv7(), uuidv7()]
  await ledgerOf(uuidv7()).hold({ ...asked, callId: elsewhere, hasIdempotencyKey: false })
  await sql`update holds set held_at = now() - interval '11 seconds'`.execute(store.db)
  await ledger.hold({ ...asked, callId: young, hasIdempotencyKey: false })

  // The last one is not among them: its caller was told 503 while PostgreSQL granted it after all.
  const running = new Map(calls.slice(0, -1).map((id) => [id, new AbortController()]))
  const metrics = createMetrics()
  await createLease({
    db: store.db,
    gatewayId,
    ledger,
    running,
    metrics,
    beatMs: 1_000,
    secrets: { versions: [1] },
  }).renew()
  const open = await store.db.selectFrom('holds').select('id').execute()
  assert.deepEqual(new Set(open.map(({ id }) => id)), new Set([...running.keys(), elsewhere, young]))
  assert.equal((await metrics.holdsOrphaned.get()).values[0]?.value, 1)
  assert.deepEqual(await walletOf(store, project.id), { balance: 1_000_000_000_000n, held: 30_100n, openHolds: 301 })
})

test('what a dead gateway has left is settled as a call of the endpoint that it was asked at', async () => {
  const ledger = createTestLedger(store.ledgerPool, uuidv7())
  const project = await addProject(store, createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }]))
  await addProvider(store, createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }]), 'p', 'http://127.0.0.1:9/v1')
  await addModel(store, { id: 'sim-small', provider: 'p' })
  const { id: priceVersion } = await store.db.selectFrom('price_versions').select('id').executeTakeFirstOrThrow()
  const keyPair = store.db.selectFrom('key_pairs').select('id').where('project_id', '=', project.id)
  const { id: keyPairId } = await keyPair.executeTakeFirstOrThrow()
  const asked = { projectId: project.id, keyPairId, modelId: 'sim-small', priceVersion, want: 100n, min: 100n }
  // The last one is held by a gateway of the version before, which does not say.
  const names = [...(Object.keys(CALL_ENDPOINTS) as CallEndpointName[]), undefined]
  const calls = names.map((endpoint) => ({ callId: uuidv7(), ...(endpoint && { endpoint }) }))
  await Promise.all(calls.map((call) => ledger.hold({ ...asked, ...call, hasIdempotencyKey: false })))
  await sql`select ledger_sweep(interval '0', interval '0', 1000)`.execute(store.db)
  for (const { callId, endpoint } of calls) {
    const receipt = await findReceipt(store.db, callId)
    assert.deepEqual([receipt?.outcome, receipt?.endpoint], ['gateway_died', endpointOf(endpoint)])
  }
})
