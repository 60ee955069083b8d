import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { isUnavailable, type Store } from '../../src/store/database.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { createFaultProxy, type FaultProxy } from '../support/fault-proxy.ts'
import { until } from '../support/world.ts'

let database: TestDatabase
let proxy: FaultProxy
let store: Store

before(async () => {
  database = await createTestDatabase()
})
after(() => database.drop())

beforeEach(async () => {
  const url = new URL(database.url)
  proxy = await createFaultProxy({ host: url.hostname, port: Number(url.port || 5432) })
  url.host = `127.0.0.1:${proxy.port}`
  store = openTestStore({ url: url.href, applicationName: 'database test', poolMax: 1, statementTimeoutMs: 100 })
})
afterEach(async () => {
  await store.close()
  await proxy.close()
})

const one = () => sql<{ one: number }>`select 1 as one`.execute(store.db)

test('a connection that is lost fails the statement that ran on it, and nothing else', async () => {
  // An error that nobody listens to would end this process, as it would a gateway.
  for (const how of ['fin', 'rst'] as const) {
    await one()
    const running = sql`set statement_timeout = 0; select pg_sleep(5)`.execute(store.db)
    const alsoRunning = store.ledgerPool.query('select pg_sleep(5)')
    const lost = Promise.all([running, alsoRunning].map((statement) => assert.rejects(statement, isUnavailable)))
    await sleep(50)
    assert.equal(proxy.cut(how), 2)
    await lost
    assert.equal((await one()).rows[0]?.one, 1)
    assert.equal((await store.ledgerPool.query('select 1')).rowCount, 1)
  }
})

test('a connection that does not answer in time is not used again', async () => {
  await one()
  proxy.silence()
  await assert.rejects(one(), isUnavailable)
  assert.equal((await one()).rows[0]?.one, 1)
  await until(() => proxy.openConnections === 1) // the silent one is closed
})

test('a transaction that loses its connection tells why it was lost', async () => {
  const endedItself = store.db
    .transaction()
    .execute((tx) => sql`select pg_terminate_backend(pg_backend_pid())`.execute(tx))
  await assert.rejects(endedItself, /terminating connection due to administrator command/)
  assert.equal((await one()).rows[0]?.one, 1)
})
