import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { seedLedger } from '../../bench/audit-seed.ts'
import { checkLedger } from '../../src/store/billing/ledger-check.ts'
import type { Store } from '../../src/store/database.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'

/** How long the ledger check keeps PostgreSQL from forgetting old versions of rows, which is what makes calls slower. */

const SEED = { calls: 60_000, wallets: 50, days: 6 }

let database: TestDatabase
let store: Store
let workerStore: Store

before(async () => {
  database = await createTestDatabase()
  await seedLedger(database.url, SEED)
  store = openTestStore({ url: database.url, applicationName: 'watcher' })
  workerStore = openTestStore({ url: loginUrl(database.url, 'worker'), applicationName: 'snapshots' })
})
after(async () => {
  await workerStore.close()
  await store.close()
  await database.drop()
})

test('a full check reads everything, and none of its snapshots lasts a third of the time that it takes', async (t) => {
  let isOver = false
  let longestMs = 0
  const watching = (async () => {
    while (!isOver) {
      const { rows } = await sql<{ ms: number }>`
        select coalesce(max(extract(epoch from clock_timestamp() - xact_start)) * 1000, 0)::float8 as ms
        from pg_stat_activity where application_name = 'snapshots' and datname = current_database()`.execute(store.db)
      longestMs = Math.max(longestMs, rows[0]?.ms ?? 0)
      await sleep(2)
    }
  })()
  const { verdicts, seconds } = await checkLedger(workerStore.db, { isFull: true, leaseMs: 60_000 })
  isOver = true
  await watching
  t.diagnostic(`longest snapshot ${longestMs.toFixed(0)} ms of ${(seconds * 1000).toFixed(0)} ms`)
  assert.deepEqual(
    verdicts.filter(({ violations }) => violations > 0),
    [],
  )
  assert.equal(verdicts.find(({ of }) => of === 'charges')?.checked, SEED.calls)
  assert.ok(longestMs > 0)
  assert.ok(longestMs < (seconds * 1000) / 3, `${longestMs} of ${seconds * 1000} ms`)
})
