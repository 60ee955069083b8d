import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PARLEY, type Actor } from '../../src/actions/actor.ts'
import { applyPaymentEvent } from '../../src/actions/billing/payments.ts'
import { creditWallet } from '../../src/actions/billing/wallets.ts'
import { setDomainVerified } from '../../src/actions/projects/domains.ts'
import { createKeyPair, deleteKeyPair, rollKeyPair, setKeyPairActive } from '../../src/actions/projects/key-pairs.ts'
import { createEndpoint } from '../../src/actions/projects/webhooks.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { ENDPOINTS_MAX } from '../../src/rules/webhooks.ts'
import { insertPayment } from '../../src/store/billing/payments.ts'
import type { Store, Tx } from '../../src/store/database.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'
import { addProject } from '../support/world.ts'

const secrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 9) }])
const installation = { secrets, cell: '00', consoleUrl: 'http://console.test' }
const OPERATOR: Actor = { kind: 'operator', id: 'root', reason: undefined }

let database: TestDatabase
let store: Store
/** Payments come in under the console's login. */
let consoleStore: Store
before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'webhook events test' })
  consoleStore = openTestStore({
    url: loginUrl(database.url, 'console'),
    applicationName: 'webhook events test console',
  })
})
after(async () => {
  await consoleStore.close()
  await store.close()
  await database.drop()
})

async function newProject() {
  const { id, publisherId } = await addProject(store, secrets)
  return { id, publisherId, name: 'Test Project' }
}

const change = <T>(work: (tx: Tx) => Promise<T>) => store.db.transaction().execute(work)

async function toldOf(projectId: string): Promise<string[]> {
  const events = await store.db
    .selectFrom('webhook_events')
    .select(['type', 'body'])
    .where('project_id', '=', projectId)
    .orderBy('id')
    .execute()
  for (const { body } of events) assert.doesNotMatch(body, /sk_|whsec_/)
  return events.map(({ type }) => type)
}

test('what is done to keys, money and domains is told in the same transaction, and only where it is wanted', async () => {
  const project = await newProject()
  const unheard = await change((tx) =>
    createKeyPair(tx, OPERATOR, { project, name: 'unheard', expiresInDays: null, installation }),
  )
  assert.ok(unheard.id)
  assert.deepEqual(await toldOf(project.id), [])
  const eventTypes = ['key.created', 'key.revoked', 'wallet.topped_up', 'domain.lapsed'] as const
  await change((tx) => createEndpoint(tx, PARLEY, { project, url: 'https://hooks.example.com/', eventTypes, secrets }))

  const pair = await change((tx) =>
    createKeyPair(tx, OPERATOR, { project, name: 'server', expiresInDays: 1, installation }),
  )
  const next = await change((tx) =>
    rollKeyPair(tx, OPERATOR, { project, keyId: pair.id, overlapSeconds: 0, installation }),
  )
  await change((tx) => setKeyPairActive(tx, OPERATOR, { project, keyId: next.id, isActive: false }))
  await change((tx) => setKeyPairActive(tx, OPERATOR, { project, keyId: next.id, isActive: true }))
  await change((tx) => deleteKeyPair(tx, OPERATOR, { project, keyId: next.id, installation }))
  const movement = { id: uuidv7(), projectId: project.id, amount: 5n, reference: uuidv7(), reason: null }
  for (let n = 0; n < 2; n++) await change((tx) => creditWallet(tx, OPERATOR, { project, movement, kind: 'topup' }))
  await change((tx) => setDomainVerified(tx, OPERATOR, { project, isVerified: false }))
  // Nobody wants to know.
  await change((tx) => setDomainVerified(tx, OPERATOR, { project, isVerified: true }))

  const sessionId = 'cs_test_1'
  await insertPayment(store.db, { sessionId, projectId: project.id, amount: 25_000_000_000n, currency: 'usd' })
  const paid = {
    type: 'paid',
    sessionId,
    paymentIntent: 'pi_1',
    amount: 25_000_000_000n,
    currency: 'usd',
    tax: 0n,
  } as const
  assert.equal(await applyPaymentEvent(consoleStore.db, paid), 'credited')
  assert.equal(await applyPaymentEvent(consoleStore.db, paid), 'unchanged')
  assert.deepEqual(await toldOf(project.id), [
    'key.created',
    'key.created',
    'key.revoked',
    'key.revoked',
    'key.revoked',
    'wallet.topped_up',
    'domain.lapsed',
    'wallet.topped_up',
  ])
})

test('a project has five endpoints at most, and none at an address of a local network', async () => {
  const project = await newProject()
  const add = (url: string) =>
    change((tx) => createEndpoint(tx, PARLEY, { project, url, eventTypes: ['key.created'], secrets }))
  await assert.rejects(add('https://localhost/'), /public domain name/)
  for (let n = 0; n < ENDPOINTS_MAX; n++)
    assert.match((await add('https://hooks.example.com/')).secret, /^whsec_.{44}$/)
  await assert.rejects(add('https://hooks.example.com/'), /at most 5/)
})
