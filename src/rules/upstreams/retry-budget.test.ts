import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newRetryBudget, withCall, withRepeat, type RetryBudget } from './retry-budget.ts'

/** How many repeats it has at this moment. */
function repeatsIn(budget: RetryBudget, nowMs: number): number {
  let count = 0
  for (let left = withRepeat(budget, nowMs); left; left = withRepeat(left, nowMs)) count += 1
  return count
}

function withCalls(count: number, budget: RetryBudget): RetryBudget {
  return Array.from({ length: count }).reduce<RetryBudget>(withCall, budget)
}

const SPENT = { thousandths: 0, atMs: 0 }

test('every tenth call may be repeated', () => {
  assert.equal(repeatsIn(withCalls(9, SPENT), 0), 0)
  assert.equal(repeatsIn(withCalls(10, SPENT), 0), 1)
  assert.equal(repeatsIn(withCalls(500, SPENT), 0), 50)
})

test('in quiet times three may be repeated each second', () => {
  assert.equal(repeatsIn(newRetryBudget(0), 0), 3)
  assert.equal(repeatsIn(SPENT, 333), 0)
  assert.equal(repeatsIn(SPENT, 1_000), 3)
  assert.equal(repeatsIn(SPENT, 10_000), 30)
})

test('what is not used is saved up to a limit only', () => {
  assert.equal(repeatsIn(SPENT, 86_400_000), 100)
  assert.equal(repeatsIn(withCalls(1_000_000, SPENT), 0), 100)
})

test('when everything fails, repeats stay near a tenth of the calls', () => {
  let budget = newRetryBudget(0)
  let repeats = 0
  for (let ms = 0; ms < 60_000; ms++) {
    budget = withCall(budget)
    const left = withRepeat(budget, ms)
    if (left) repeats += 1
    budget = left ?? budget
  }
  assert.ok(repeats > 6_000 && repeats <= 6_000 + 60 * 3 + 3, `${repeats} repeats of 60,000 calls in a minute`)
})

test('a clock that stands still gives nothing', () => {
  assert.equal(withRepeat({ thousandths: 999, atMs: 50 }, 50), undefined)
  assert.equal(withRepeat({ thousandths: 999, atMs: 50 }, 40), undefined)
})
