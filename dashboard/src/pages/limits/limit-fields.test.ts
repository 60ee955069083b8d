import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isBudget, isRate, limitsOf, textsOf } from './limit-fields.ts'

const VALUES = {
  requestsPerMinute: 60,
  tokensPerMinute: '100000',
  concurrentCalls: null,
  dayNanos: '2500000000',
  weekNanos: null,
  monthNanos: '0',
  totalNanos: null,
}

test('what is saved without a change is what was there', () => {
  const texts = textsOf(VALUES)
  assert.deepEqual(texts, {
    requestsPerMinute: '60',
    tokensPerMinute: '100000',
    concurrentCalls: '',
    dayNanos: '2.50',
    weekNanos: '',
    monthNanos: '0',
    totalNanos: '',
  })
  assert.deepEqual(limitsOf(texts), VALUES)
})

test('numbers and amounts are read as people write them, and nothing is no limit', () => {
  const texts = { ...textsOf(VALUES), requestsPerMinute: ' ', tokensPerMinute: '1,000 000', weekNanos: '$1,000.5' }
  const { requestsPerMinute, tokensPerMinute, weekNanos } = limitsOf(texts)
  assert.deepEqual([requestsPerMinute, tokensPerMinute, weekNanos], [null, '1000000', '1000500000000'])
  assert.deepEqual(['', '1', '1,200', '0', '1.5', 'x', '-1'].map(isRate), [
    true,
    true,
    true,
    false,
    false,
    false,
    false,
  ])
  assert.deepEqual(['', '0', '$2.50', 'x', '-1'].map(isBudget), [true, true, true, false, false])
})
