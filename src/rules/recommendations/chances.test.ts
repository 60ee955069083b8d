import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitOf, shortfallOf } from './chances.ts'
import type { Funds } from './pacing.ts'

const chances = (open: number, fitted: number, contended: number, won: number) => ({
  open: BigInt(open),
  fitted: BigInt(fitted),
  contended: BigInt(contended),
  won: BigInt(won),
})

test('a campaign is limited by fit where little fits it or others fit better, and by bid where others bid more', () => {
  assert.equal(shortfallOf(chances(99, 0, 0, 0)), undefined, 'nothing is said of so few')
  assert.equal(shortfallOf(chances(100, 0, 0, 0)), 'fit')
  assert.equal(shortfallOf(chances(1_000, 9, 9, 9)), 'fit')
  assert.equal(shortfallOf(chances(1_000, 10, 10, 5)), undefined, 'half of them is enough')
  assert.equal(shortfallOf(chances(1_000, 10, 10, 4)), 'bid')
  assert.equal(shortfallOf(chances(1_000, 10, 6, 2)), 'bid', 'as often by bids as before them')
  assert.equal(shortfallOf(chances(1_000, 10, 5, 2)), 'fit')
})

test('what keeps a campaign out now is said before what holds it back', () => {
  const funds: Funds = {
    pacing: 'asap',
    bidNanos: 2n,
    balanceNanos: 10n,
    dailyBudgetNanos: 1n,
    totalBudgetNanos: null,
    spentNanos: 0n,
    spentTodayNanos: 0n,
    dayMs: 0,
  }
  assert.equal(limitOf(funds, chances(1_000, 0, 0, 0), 1), 'daily_budget')
  assert.equal(limitOf({ ...funds, dailyBudgetNanos: null }, chances(1_000, 0, 0, 0), 1), 'fit')
  assert.equal(limitOf({ ...funds, dailyBudgetNanos: null }, undefined, 1), undefined)
})
