import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesToCharge, savingsOf } from './cost-lines.ts'

test('the lines below those of the tokens lead to what was charged, and there are none where nothing differs', () => {
  const rounded = { label: 'Rounded up to a billionth of a dollar', nanos: '1' }
  const lines = (worthNanos: string, chargedNanos: string, roundingNanos: string) =>
    linesToCharge({ worthNanos, chargedNanos, roundingNanos })
  assert.deepEqual(lines('700', '700', '0'), [])
  assert.deepEqual(lines('701', '701', '1'), [rounded])
  assert.deepEqual(lines('700', '699', '0'), [{ label: 'Not charged', nanos: '-1' }])
  // Tokens for 700, rounded up to 701, of which 500 were there to be charged.
  assert.deepEqual(lines('701', '500', '1'), [rounded, { label: 'Not charged', nanos: '-201' }])
})

test('what caching has saved is said, also when it was less than nothing', () => {
  const label = 'Saved by caching the prompt'
  assert.deepEqual(savingsOf({ savedNanos: '0' }), [])
  assert.deepEqual(savingsOf({ savedNanos: '20' }), [{ label, nanos: '20' }])
  assert.deepEqual(savingsOf({ savedNanos: '-20' }), [{ label, nanos: '-20' }])
})
