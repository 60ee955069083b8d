import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CALL_OUTCOMES } from './charging.ts'
import { FAILURES, failuresIn, LATENCY_BOUNDS, LATENCY_COUNTS, percentileOf, STATUSES } from './usage-counts.ts'

test('what stored arrays count is at the position where it always was', () => {
  assert.deepEqual(CALL_OUTCOMES.slice(0, 8), [
    'completed',
    'hung_up',
    'hold_used_up',
    'upstream_failed',
    'truncated',
    'timed_out',
    'gateway_failed',
    'gateway_died',
  ])
  assert.deepEqual(STATUSES, [200, 499, 500, 502, 503, 504, 0])
  assert.equal(LATENCY_COUNTS, 47)
  assert.deepEqual([LATENCY_BOUNDS[0], LATENCY_BOUNDS[3], LATENCY_BOUNDS.at(-1)], [20, 40, 655_360])
})

test('a percentile is within a bucket of the truth, which is at most 26 percent wide', () => {
  const latencies = Array.from({ length: 10_000 }, (_, n) => 30 + ((n * 7_919) % 10_000) * 3)
  const histogram = Array.from({ length: LATENCY_COUNTS }, () => 0)
  for (const ms of latencies) {
    const at = LATENCY_BOUNDS.findIndex((bound) => ms < bound)
    histogram[at]! += 1
  }
  const sorted = latencies.toSorted((a, b) => a - b)
  for (const share of [0.05, 0.5, 0.9, 0.95, 0.99]) {
    const truth = sorted[Math.floor(sorted.length * share)]!
    const estimate = percentileOf(histogram, share)!
    assert.ok(Math.abs(estimate / truth - 1) < 0.26, `${share}: ${estimate} instead of ${truth}`)
  }
})

test('without calls there is no percentile, and one call is its own', () => {
  assert.equal(percentileOf([], 0.5), null)
  assert.equal(percentileOf([0, 0, 0], 0.5), null)
  const one = percentileOf([0, 0, 1], 0.95)!
  assert.ok(one > LATENCY_BOUNDS[1]! && one <= LATENCY_BOUNDS[2]!)
})

test('what is longer than the last bound is said to be that long', () => {
  const histogram = Array.from({ length: LATENCY_COUNTS }, (_, n) => (n === LATENCY_COUNTS - 1 ? 5 : 0))
  assert.equal(percentileOf(histogram, 0.5), LATENCY_BOUNDS.at(-1))
})

test('who hangs up or runs out of credit did not fail', () => {
  assert.ok(!FAILURES.has('hung_up') && !FAILURES.has('hold_used_up') && !FAILURES.has('completed'))
  assert.equal(failuresIn([100, 10, 10, 1, 2, 3, 4, 5]), 15)
})
