import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LaneFull, LaneTimeout } from '../platform/batch.ts'
import { storeUnavailable } from '../rules/errors.ts'
import { orUnavailable } from './database.ts'

const AWAY = [
  Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
  Object.assign(new Error('shutting down'), { code: '57P01' }),
  new Error('Connection terminated unexpectedly'),
  new LaneTimeout(),
  new LaneFull(),
]

test('who waits for a store that is away is told so and when to come back, however it shows', async () => {
  assert.equal(await orUnavailable(Promise.resolve('answer')), 'answer')
  for (const error of AWAY) {
    const told = { code: 'store_unavailable', status: 503, options: { retryAfterSeconds: 2 } }
    await assert.rejects(orUnavailable(Promise.reject(error)), told)
  }
  assert.deepEqual(storeUnavailable({ ledger: 'clock_wrong' }).options, {
    retryAfterSeconds: 2,
    details: { ledger: 'clock_wrong' },
  })
})

test('what the store refuses is not taken for its absence', async () => {
  const refusal = Object.assign(new Error('a right is missing'), { code: '42501' })
  await assert.rejects(orUnavailable(Promise.reject(refusal)), refusal)
})
