import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../durations.ts'
import { adjustPace, hindranceOf, isInMoment, plannedShare, type Funds } from './pacing.ts'

const TODAY = 20_000 * DAY_MS
const NOON = TODAY + 12 * HOUR_MS

function funds(changes: Partial<Funds> = {}): Funds {
  return {
    pacing: 'even',
    bidNanos: 10n,
    balanceNanos: 1_000n,
    dailyBudgetNanos: 240n,
    totalBudgetNanos: null,
    spentNanos: 0n,
    spentTodayNanos: 0n,
    dayMs: TODAY,
    ...changes,
  }
}

test('whoever could not pay for one more click takes no part', () => {
  assert.equal(hindranceOf(funds(), NOON), undefined)
  assert.equal(hindranceOf(funds({ balanceNanos: 10n }), NOON), undefined)
  assert.equal(hindranceOf(funds({ balanceNanos: 9n }), NOON), 'credit')
  assert.equal(hindranceOf(funds({ totalBudgetNanos: 50n, spentNanos: 40n }), NOON), undefined)
  assert.equal(hindranceOf(funds({ totalBudgetNanos: 50n, spentNanos: 41n }), NOON), 'total_budget')
  assert.equal(hindranceOf(funds({ pacing: 'asap', spentTodayNanos: 230n }), NOON), undefined)
  assert.equal(hindranceOf(funds({ pacing: 'asap', spentTodayNanos: 231n }), NOON), 'daily_budget')
  assert.equal(hindranceOf(funds({ dailyBudgetNanos: null, spentTodayNanos: 900n }), NOON), undefined)
})

test('one that is ahead of its plan waits, and a new day begins with nothing spent', () => {
  assert.equal(hindranceOf(funds({ spentTodayNanos: 120n }), NOON), undefined)
  assert.equal(hindranceOf(funds({ spentTodayNanos: 121n }), NOON), 'pacing')
  assert.equal(hindranceOf(funds({ pacing: 'front_loaded', spentTodayNanos: 180n }), NOON), undefined)
  assert.equal(hindranceOf(funds({ pacing: 'front_loaded', spentTodayNanos: 181n }), NOON), 'pacing')
  assert.equal(hindranceOf(funds({ spentTodayNanos: 240n }), TODAY + DAY_MS - 1), 'daily_budget')
  assert.equal(hindranceOf(funds({ spentTodayNanos: 240n }), TODAY + DAY_MS), undefined)
})

test('a plan begins with nothing and ends with everything, and never goes back', () => {
  for (const pacing of ['even', 'front_loaded'] as const) {
    assert.deepEqual([plannedShare(pacing, 0), plannedShare(pacing, 1)], [0, 1])
    for (let n = 0; n < 24; n++) assert.ok(plannedShare(pacing, (n + 1) / 24) > plannedShare(pacing, n / 24))
  }
  assert.equal(plannedShare('asap', 0), 1)
})

test('a pace follows its plan: twice as much at most, or half as much at least, every five minutes', () => {
  const later = NOON + 5 * MINUTE_MS
  const behind = { share: 0.1, sinceMs: NOON, spentNanos: 0n }
  assert.equal(adjustPace(behind, funds(), later - 1).share, 0.1)
  assert.equal(adjustPace(behind, funds(), later).share, 0.2)
  const ahead = { share: 0.1, sinceMs: NOON, spentNanos: 200n }
  assert.equal(adjustPace(ahead, funds({ spentTodayNanos: 210n }), later).share, 0.05)
  assert.equal(adjustPace({ ...behind, share: 0.9 }, funds(), later).share, 1)
  assert.equal(adjustPace(ahead, funds({ spentTodayNanos: 210n }), TODAY + DAY_MS).share, 0.1)
})

test('of all moments a campaign takes part in its share, at others than its neighbour', () => {
  const moments = Array.from({ length: 10_000 }, (_, n) => NOON + n * 250)
  const pace = { share: 0.3, sinceMs: NOON, spentNanos: 0n }
  const own = moments.map((at) => isInMoment('one', funds(), pace, at))
  const others = moments.map((at) => isInMoment('other', funds(), pace, at))
  const shareOf = (taken: boolean[]) => taken.filter(Boolean).length / taken.length
  assert.ok(Math.abs(shareOf(own) - 0.3) < 0.02)
  assert.ok(Math.abs(shareOf(own.map((is, n) => is && Boolean(others[n]))) - 0.09) < 0.02)
  assert.equal(isInMoment('one', funds(), pace, NOON + 249), own[0])
  assert.ok(moments.every((at) => isInMoment('one', funds({ dailyBudgetNanos: null }), pace, at)))
})
