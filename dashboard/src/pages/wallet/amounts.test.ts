import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLow, isPayable } from './amounts.ts'

test('what can be paid is from the least to the most, both included, and in whole cents', () => {
  const limits = { minNanos: '5000000000', maxNanos: '10000000000000' }
  for (const nanos of ['5000000000', '5010000000', '10000000000000'])
    assert.equal(isPayable(nanos, limits), true, nanos)
  for (const nanos of ['4990000000', '5000000001', '5001000000', '10000010000000', '0', undefined])
    assert.equal(isPayable(nanos, limits), false, nanos)
})

test('a balance is low below its alert, or below a dollar where there is none', () => {
  const low = (balanceNanos: string, alertNanos: string | null) => isLow({ balanceNanos, alertNanos })
  assert.deepEqual([low('999999999', null), low('1000000000', null)], [true, false])
  assert.deepEqual([low('4999999999', '5000000000'), low('5000000000', '5000000000')], [true, false])
  assert.deepEqual([low('999999999', '1'), low('0', '1'), low('-1', null)], [false, true, true])
})
