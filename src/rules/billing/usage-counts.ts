import { CALL_OUTCOMES, type CallOutcome } from './charging.ts'

/**
 * The meaning of each position in the roll-ups' arrays: CALL_OUTCOMES, STATUSES, and the buckets of LATENCY_BOUNDS. Stored
 * rows depend on it: a new entry is added at the end of a list, and nothing is ever moved.
 */

/** 0: its gateway died before it could answer. The last position counts all other statuses. */
export const STATUSES = [200, 499, 500, 502, 503, 504, 0] as const

/** An answer that our side or the provider broke. Who hangs up, or runs out of credit midway, got what was asked for. */
export const FAILURES: ReadonlySet<CallOutcome> = new Set([
  'upstream_failed',
  'truncated',
  'timed_out',
  'gateway_failed',
  'gateway_died',
])

/** Upper ends in milliseconds, three to a doubling from 20 ms on: a percentile is off by a few percent, at most by 26. */
export const LATENCY_BOUNDS: readonly number[] = Array.from({ length: 46 }, (_, n) => Math.round(20 * 2 ** (n / 3)))

/** A latency histogram has one position more than there are bounds. */
export const LATENCY_COUNTS = LATENCY_BOUNDS.length + 1

/**
 * The latency that this share of the calls stayed below, from a histogram. Within a bucket the calls are taken to be
 * spread evenly. Null without calls.
 */
export function percentileOf(histogram: readonly number[], share: number): number | null {
  const total = histogram.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const wanted = total * share
  let before = 0
  for (const [n, count] of histogram.entries()) {
    if (count > 0 && before + count >= wanted) {
      const low = LATENCY_BOUNDS[n - 1] ?? 0
      // Beyond the last bound, no upper end is known.
      const high = LATENCY_BOUNDS[n] ?? low
      return Math.round(low + (high - low) * ((wanted - before) / count))
    }
    before += count
  }
  return null
}

export function failuresIn(outcomes: readonly number[]): number {
  return CALL_OUTCOMES.reduce((sum, outcome, n) => sum + (FAILURES.has(outcome) ? (outcomes[n] ?? 0) : 0), 0)
}
