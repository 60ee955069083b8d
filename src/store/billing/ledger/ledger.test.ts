import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { createLedger } from './ledger.ts'
import type { ApplyBatch } from './ledger-items.ts'

const REQUEST = {
  callId: 'c',
  projectId: 'p',
  keyPairId: 'k',
  modelId: 'm',
  priceVersion: 1n,
  want: 1n,
  min: 1n,
  hasIdempotencyKey: false,
}
/** A second, with what a busy machine adds. */
const REFUSED_WITHIN_MS = 5_000
const DISK_FULL = Object.assign(new Error('no space left on device'), { code: '53100' })

/** A store whose disk can be full, and a clock that can be moved. */
function createStore() {
  const real = performance.now.bind(performance)
  const state = { isFull: false, laterMs: 0 }
  const clock = mock.method(performance, 'now', () => real() + state.laterMs)
  const apply: ApplyBatch = (items) => {
    if (state.isFull) throw DISK_FULL
    return Promise.resolve(items.map(({ part }) => ({ id: 'c', part, amount_nanos: 1n, refusal: null })))
  }
  const told: string[] = []
  const ledger = createLedger(apply, {
    onPutOff: (error) => told.push((error as typeof DISK_FULL).code),
    onRecovered: () => told.push('recovered'),
  })
  return { state, told, ledger, close: () => clock.mock.restore() }
}

test('a store that cannot be written is told of once, and once when it writes again', async () => {
  const { state, told, ledger, close } = createStore()
  await ledger.hold(REQUEST)
  assert.deepEqual(told, [])
  state.isFull = true
  const askedMs = performance.now()
  const refused = [ledger.hold(REQUEST), ledger.hold(REQUEST)]
  for (const hold of refused) await assert.rejects(hold, { code: 'store_unavailable' })
  assert.ok(performance.now() - askedMs < REFUSED_WITHIN_MS)
  assert.deepEqual(told, ['53100'])
  state.isFull = false
  await ledger.hold(REQUEST)
  await ledger.hold(REQUEST)
  assert.deepEqual(told, ['53100', 'recovered'])
  close()
})

test('a gateway whose ledger cannot be written gets no calls after a while, then a few again to try', async () => {
  const { state, ledger, told, close } = createStore()
  state.isFull = true
  // A process that is paused for a second refuses a call before it has asked the store.
  while (told.length === 0) await assert.rejects(ledger.hold(REQUEST))
  assert.equal(ledger.isWritable, true, 'a moment is no reason to leave')
  await ledger.idle()
  state.laterMs += 5_000
  assert.equal(ledger.isWritable, false)
  state.laterMs += 6_000
  assert.equal(ledger.isWritable, true, 'only a call can show that it is over')
  await assert.rejects(ledger.hold(REQUEST))
  assert.equal(ledger.isWritable, true)
  await ledger.idle()
  state.laterMs += 5_000
  assert.equal(ledger.isWritable, false)
  state.isFull = false
  await ledger.hold(REQUEST)
  assert.equal(ledger.isWritable, true)
  assert.deepEqual(told, ['53100', 'recovered'])
  close()
})

test('a refusal that this version does not know is 503, for another gateway to answer, and the log says which it was', async () => {
  for (const refusal of ['clock_wrong', 'season_closed', 'constructor']) {
    const ledger = createLedger((items) =>
      Promise.resolve(items.map(({ part }) => ({ id: 'c', part, amount_nanos: 0n, refusal }))),
    )
    await assert.rejects(ledger.hold(REQUEST), {
      name: 'ParleyError',
      code: 'store_unavailable',
      options: { retryAfterSeconds: 2, details: { ledger: refusal } },
    })
  }
})
