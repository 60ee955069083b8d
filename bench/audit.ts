/**
 * How long `parley audit` takes on a ledger of many calls: the whole of it, and what is new since the last time. Run it
 * with `npm run bench:audit -- --calls 10000000`.
 */
import { parseArgs } from 'node:util'
import { LEASE_MS } from '../src/rules/limits.ts'
import { checkLedger } from '../src/store/billing/ledger-check/ledger-check.ts'
import { openStore, type Store } from '../src/store/database.ts'
import { createTestDatabase } from '../test/support/database.ts'
import { loginUrl } from '../test/support/logins.ts'
import { addRecentCalls, seedLedger } from './audit-seed.ts'

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '1000000' },
    wallets: { type: 'string', default: '2000' },
    days: { type: 'string', default: '7' },
    recent: { type: 'string', default: '20000' },
  },
})
const calls = Number(values.calls)
const recent = Number(values.recent)

const database = await createTestDatabase()
const store = openStore({ url: loginUrl(database.url, 'worker'), applicationName: 'parley bench' })
try {
  const seed = { calls, wallets: Number(values.wallets), days: Number(values.days) }
  const seededMs = performance.now()
  await seedLedger(database.url, seed)
  console.log(
    `${whole(calls)} calls of ${whole(seed.wallets)} wallets in ${seed.days} days, seeded in ${secondsSince(seededMs)} s`,
  )
  await pass(store, 'full, the first', true, calls)
  await pass(store, 'full, again', true, calls)
  await pass(store, 'incremental, nothing new', false, 0)
  await addRecentCalls(database.url, recent)
  await pass(store, `incremental, ${whole(recent)} new calls`, false, recent)
} finally {
  await store.close()
  await database.drop()
}

async function pass({ db }: Store, title: string, isFull: boolean, expected: number): Promise<void> {
  const result = await checkLedger(db, { isFull, leaseMs: LEASE_MS })
  const broken = result.verdicts.filter(({ violations }) => violations > 0)
  if (broken.length > 0) throw new Error(`the seeded ledger is not sound: ${JSON.stringify(broken)}`)
  const read = result.verdicts.find(({ of }) => of === 'charges')?.checked ?? 0
  if (result.isFull !== isFull || read < expected) throw new Error(`${read} charges were read instead of ${expected}`)
  console.log(`${title.padEnd(36)} ${result.seconds.toFixed(2).padStart(6)} s, ${whole(read)} charges read`)
}

function secondsSince(ms: number): string {
  return ((performance.now() - ms) / 1000).toFixed(0)
}

function whole(value: number): string {
  return value.toLocaleString('en-US')
}
