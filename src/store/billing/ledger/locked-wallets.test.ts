import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLedger } from './ledger.ts'
import type { ApplyBatch, LedgerItem } from './ledger-items.ts'

const LOCKED = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })

/** A store in which wallets can be locked; every statement is noted with the projects in it. */
function createStore() {
  const locked = new Set<string>()
  const statements: string[] = []
  const projectOf = (item: LedgerItem) => (item.part === 'settle' ? item.settlement : item.request).projectId
  const applyOver = (road: string): ApplyBatch => {
    return async (items) => {
      statements.push(`${road} ${[...new Set(items.map(projectOf))].toSorted().join(' ')}`)
      await sleep(1)
      if (items.some((item) => locked.has(projectOf(item)))) throw LOCKED
      return items.map((item) => ({ id: 'c', part: item.part, amount_nanos: 1n, refusal: null }))
    }
  }
  const findFree = (ids: readonly string[]) => Promise.resolve(new Set(ids.filter((id) => !locked.has(id))))
  const told: unknown[] = []
  const ledger = createLedger(applyOver('common'), {
    side: { findFree, apply: applyOver('side') },
    onPutOff: (error) => told.push(error),
  })
  return { locked, statements, told, ledger, applyOver }
}

function holdOf(projectId: string) {
  return {
    callId: 'c',
    projectId,
    keyPairId: 'k',
    modelId: 'm',
    priceVersion: 1n,
    want: 1n,
    min: 1n,
    hasIdempotencyKey: false,
  }
}

test('a locked wallet leaves the common lane, and everybody else is answered by the next statement', async () => {
  const { locked, statements, told, ledger } = createStore()
  locked.add('a')
  const waiting = ledger.hold(holdOf('a'))
  assert.equal((await ledger.hold(holdOf('b'))).amount, 1n)
  assert.deepEqual(statements.slice(0, 2), ['common a b', 'common b'])
  const again = ledger.hold(holdOf('a'))
  await ledger.hold(holdOf('c'))
  assert.ok(statements.includes('common c'))
  assert.ok(!statements.includes('common a c'), 'new items of the locked wallet keep nobody waiting')
  locked.clear()
  assert.equal((await Promise.all([waiting, again])).length, 2)
  await ledger.idle()
  statements.length = 0
  await ledger.hold(holdOf('a'))
  assert.deepEqual(statements, ['common a'], 'once it has caught up, it is one of many again')
  assert.deepEqual(told, [], 'the ledger can be written all along')
})

test('a wallet that stays locked is 503 for its own project alone, in the time that any call waits', async () => {
  const { locked, ledger } = createStore()
  locked.add('a')
  await assert.rejects(ledger.hold(holdOf('a')), { code: 'store_unavailable' })
  assert.equal((await ledger.hold(holdOf('b'))).amount, 1n)
  await ledger.idle()
  assert.equal(ledger.queued, 0)
})

/** A store in which somebody has, for so many statements, locked something that is no wallet. */
async function holdBeside(failures: number) {
  const { statements, told } = createStore()
  const ledger = createLedger(
    (items) => {
      statements.push('common')
      if (failures-- > 0) throw LOCKED
      return Promise.resolve(items.map(({ part }) => ({ id: 'c', part, amount_nanos: 1n, refusal: null })))
    },
    {
      side: { findFree: (ids) => Promise.resolve(new Set(ids)), apply: () => assert.fail('nothing is aside') },
      onPutOff: (error) => told.push(error),
    },
  )
  assert.equal((await Promise.all([ledger.hold(holdOf('a')), ledger.hold(holdOf('b'))])).length, 2)
  return { statements: statements.length, told }
}

test('a lock on something else than a wallet makes all of it go again at once, and is told of when it lasts', async () => {
  assert.deepEqual(await holdBeside(1), { statements: 2, told: [] })
  assert.deepEqual(await holdBeside(4), { statements: 5, told: [LOCKED] })
})
