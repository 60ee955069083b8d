import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Ledger } from '../store/billing/ledger/ledger.ts'
import type { Settlement } from '../store/billing/settlement.ts'
import { createLease, type LeaseOptions } from './lease.ts'

const BEAT_MS = 1_000

function leaseOver(statements: Partial<LeaseOptions['statements']> = {}, running: LeaseOptions['running'] = new Map()) {
  const settled: Settlement[] = []
  const counted = { orphans: 0 }
  const ledger = { settle: async (settlement: Settlement) => (settled.push(settlement), 0n) } as Partial<Ledger>
  const lease = createLease({
    db: undefined as never,
    gatewayId: 'this gateway',
    ledger: ledger as Ledger,
    running,
    metrics: { holdsOrphaned: { inc: () => void (counted.orphans += 1) } } as never,
    beatMs: BEAT_MS,
    secrets: { versions: [1] },
    statements: {
      beat: async () => new Date(),
      findOldHolds: async () => [],
      giveUpOrphanedKeys: async () => {},
      ...statements,
    },
  })
  return { lease, settled, counted }
}

test('a lease is fresh until three beats have failed, and again with the first that reaches the store', async (t) => {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  let isAway = false
  const { lease } = leaseOver({
    beat: async () => {
      if (isAway) throw new Error('the store is away')
      return new Date()
    },
  })
  assert.equal(lease.isFresh, false, 'nothing was reached yet')
  await lease.renew()
  assert.equal(lease.isFresh, true)
  isAway = true
  nowMs = 3 * BEAT_MS - 1
  await assert.rejects(lease.renew())
  assert.equal(lease.isFresh, true)
  nowMs = 3 * BEAT_MS
  assert.equal(lease.isFresh, false)
  isAway = false
  await lease.renew()
  assert.equal(lease.isFresh, true)
})

test('a clock that is not the store’s is noticed, and the time that an answer takes is not', async (t) => {
  let localMs = 1_000_000
  t.mock.method(Date, 'now', () => localMs)
  let storeMs = localMs
  const { lease } = leaseOver({
    beat: async () => {
      localMs += 4_000
      return new Date(storeMs)
    },
  })
  const aheadAfter = async (newStoreMs: number) => {
    storeMs = newStoreMs
    await lease.renew()
    return lease.clockAheadMs
  }
  assert.equal(await aheadAfter(localMs + 3_000), 0)
  assert.equal(await aheadAfter(localMs - 60_000), 60_000)
  assert.equal(await aheadAfter(localMs + 4_000 + 90_000), -90_000)
})

test('a hold that no running call has is given back, and one of a call that began meanwhile is not', async () => {
  const running: LeaseOptions['running'] = new Map()
  const { lease, settled, counted } = leaseOver(
    {
      findOldHolds: async () => {
        running.set('begun', new AbortController())
        return [
          { id: 'begun', project_id: 'p' },
          { id: 'lost', project_id: 'p' },
        ]
      },
    },
    running,
  )
  await lease.renew()
  assert.deepEqual(
    settled.map(({ callId, charge, outcome }) => [callId, charge, outcome]),
    [['lost', 0n, 'gateway_failed']],
  )
  assert.equal(counted.orphans, 1)
})

test('claims of idempotency keys that no running call has are given up with each beat', async () => {
  const asked: unknown[] = []
  const running: LeaseOptions['running'] = new Map([['running', new AbortController()]])
  const { lease } = leaseOver({ giveUpOrphanedKeys: async (_db, ...rest) => void asked.push(rest) }, running)
  await lease.renew()
  assert.deepEqual(asked, [['this gateway', ['running'], 10_000]])
})
