import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CALL_OUTCOMES } from '../../rules/billing/charging.ts'
import { STATUSES } from '../../rules/billing/usage-counts.ts'
import type { UsageDetails } from '../../store/billing/usage.ts'
import { detailsOf, pointsOf, totalOf } from './usage-replies.ts'

const NOON = new Date('2026-03-05T12:00:00Z')
const ONE_PM = new Date('2026-03-05T13:00:00Z')
const TWO_PM = new Date('2026-03-05T14:00:00Z')

const COUNTS = new Map<unknown, number>([
  ['completed', 8],
  ['timed_out', 2],
  [200, 8],
  [null, 2],
])
/** Every figure is another one; the histograms have all their calls in one bucket each. */
const SOME: UsageDetails = {
  calls: 10n,
  streamed: 3n,
  inputTokens: 100n,
  cachedInputTokens: 20n,
  cacheWriteTokens: 5n,
  outputTokens: 50n,
  reasoningTokens: 7n,
  charged: 1_234n,
  outcomes: CALL_OUTCOMES.map((outcome) => COUNTS.get(outcome) ?? 0),
  statuses: [...STATUSES, null].map((status) => COUNTS.get(status) ?? 0),
  firstTokens: [0, 4],
  durations: [0, 0, 0, 10],
}
const SUMS = {
  calls: 10,
  failed: 2,
  streamed: 3,
  tokens: { input: 100, cachedInput: 20, cacheWrite: 5, output: 50, reasoning: 7 },
  chargedNanos: 1_234n,
}
const LATENCIES = { firstTokenMs: { p50: 23, p95: 25 }, durationMs: { p50: 36, p95: 40 } }

test('sums are told with what failed and how, without what went well, and with both latencies', () => {
  assert.deepEqual(detailsOf(SOME), {
    ...SUMS,
    outcomes: [
      { outcome: 'completed', calls: 8 },
      { outcome: 'timed_out', calls: 2 },
    ],
    statuses: [{ status: null, calls: 2 }],
    ...LATENCIES,
  })
})

test('each hour is a point, with its own sums, latencies and groups, and an empty one where nothing was called', () => {
  const span = { from: NOON, to: TWO_PM, every: 'hour' } as const
  const [first, second, ...others] = pointsOf(span, [{ ...SOME, at: ONE_PM }], [{ ...SOME, at: ONE_PM, group: 'm' }])
  assert.deepEqual(others, [])
  const nothing = { p50: null, p95: null }
  assert.deepEqual(first, {
    at: NOON,
    calls: 0,
    failed: 0,
    streamed: 0,
    tokens: { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 },
    chargedNanos: 0n,
    firstTokenMs: nothing,
    durationMs: nothing,
    groups: [],
  })
  assert.deepEqual(second, { at: ONE_PM, ...SUMS, ...LATENCIES, groups: [{ id: 'm', ...SUMS }] })
})

test('the total of several hours is the sum of each figure and of each bucket', () => {
  assert.deepEqual(totalOf([SOME, SOME, SOME]), {
    calls: 30n,
    streamed: 9n,
    inputTokens: 300n,
    cachedInputTokens: 60n,
    cacheWriteTokens: 15n,
    outputTokens: 150n,
    reasoningTokens: 21n,
    charged: 3_702n,
    outcomes: SOME.outcomes.map((count) => 3 * count),
    statuses: SOME.statuses.map((count) => 3 * count),
    firstTokens: [0, 12],
    durations: [0, 0, 0, 30],
  })
})
