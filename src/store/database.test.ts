import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LaneFull, LaneTimeout } from '../platform/batch.ts'
import { storeUnavailable } from '../rules/errors.ts'
import { mayBeDone, orUnavailable } from './database.ts'

const AWAY = [
  Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
  Object.assign(new Error('shutting down'), { code: '57P01' }),
  Object.assign(new Error('starting up, or a standby that takes no connections'), { code: '57P03' }),
  Object.assign(new Error('the database takes no connections'), { code: '55000', severity: 'FATAL' }),
  Object.assign(new Error('the database is not there'), { code: '3D000', severity: 'FATAL' }),
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
  for (const code of ['42501', '55000', '3D000']) {
    const refusal = Object.assign(new Error('the statement is wrong'), { code, severity: 'ERROR' })
    await assert.rejects(orUnavailable(Promise.reject(refusal)), refusal)
  }
})

test('a connection that was turned away did nothing, and one that was lost may have', () => {
  const refused = (code: string) => Object.assign(new Error('no'), { code, severity: 'FATAL' })
  for (const code of ['55000', '57P03', '3D000', '53300']) assert.equal(mayBeDone(refused(code)), false, code)
  for (const code of ['57P01', '08006']) assert.equal(mayBeDone(refused(code)), true, code)
})
