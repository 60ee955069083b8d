import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasLimits, shareOf, shareOfBudget, tightestOf, type Budget } from './limit-lines.ts'

const budget = (period: Budget['period'], limitNanos: string, leftNanos: string): Budget => {
  return { period, limitNanos, leftNanos, spentNanos: '0', heldNanos: '0', renewsAt: null }
}

test('a bar is filled by what is used, never beyond its end, and is full when nothing is allowed', () => {
  assert.deepEqual([shareOf(1n, 4n), shareOf(9n, 4n), shareOf(0n, 4n), shareOf(0n, 0n)], [0.25, 1, 0, 1])
  assert.equal(shareOfBudget(budget('day', '1000000000', '250000000')), 0.75)
})

test('of several budgets, the one with the least left of it is the tightest', () => {
  const [day, month] = [budget('day', '100', '90'), budget('month', '100', '10')]
  assert.equal(tightestOf([day, month]), month)
  assert.equal(tightestOf([]), undefined)
})

test('what has no value at all has no limits', () => {
  const none = {
    requestsPerMinute: null,
    tokensPerMinute: null,
    concurrentCalls: null,
    dayNanos: null,
    weekNanos: null,
    monthNanos: null,
    totalNanos: null,
  }
  assert.equal(hasLimits(none), false)
  assert.equal(hasLimits({ ...none, dayNanos: '0' }), true)
})
