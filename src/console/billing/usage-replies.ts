import { CALL_OUTCOMES } from '../../rules/billing/charging.ts'
import { perClass } from '../../rules/billing/usage.ts'
import { failuresIn, percentileOf, STATUSES } from '../../rules/billing/usage-counts.ts'
import { momentsOf, type Span } from '../../rules/billing/usage-spans.ts'
import type { UsageDetails, UsagePoint, UsageSums } from '../../store/billing/usage.ts'

/** Sums of the roll-ups as the contract has them. Counts stay far below what a number holds exactly. */
export function sumsOf(sums: UsageSums) {
  return {
    calls: Number(sums.calls),
    failed: failuresIn(sums.outcomes),
    streamed: Number(sums.streamed),
    tokens: perClass((name) => Number(sums[`${name}Tokens`])),
    chargedNanos: sums.charged,
  }
}

export function detailsOf(details: UsageDetails) {
  return {
    ...sumsOf(details),
    outcomes: CALL_OUTCOMES.map((outcome, n) => ({ outcome, calls: details.outcomes[n] ?? 0 })).filter(hasCalls),
    statuses: [...STATUSES, null]
      .map((status, n) => ({ status, calls: details.statuses[n] ?? 0 }))
      .filter(({ status, calls }) => status !== 200 && calls > 0),
    firstTokenMs: latencyOf(details.firstTokens),
    durationMs: latencyOf(details.durations),
  }
}

function hasCalls({ calls }: { calls: number }): boolean {
  return calls > 0
}

function latencyOf(histogram: readonly number[]) {
  return { p50: percentileOf(histogram, 0.5), p95: percentileOf(histogram, 0.95) }
}

const NO_SUMS = totalOf([])

/** Adds up what is there of each hour or day: cheaper than to ask the store again. */
export function totalOf(parts: readonly UsageDetails[]): UsageDetails {
  const count = (name: CountName) => parts.reduce((sum, part) => sum + part[name], 0n)
  const counts = (name: 'outcomes' | 'statuses' | 'firstTokens' | 'durations') =>
    (parts[0]?.[name] ?? []).map((_, n) => parts.reduce((sum, part) => sum + (part[name][n] ?? 0), 0))
  return {
    calls: count('calls'),
    streamed: count('streamed'),
    inputTokens: count('inputTokens'),
    cachedInputTokens: count('cachedInputTokens'),
    cacheWriteTokens: count('cacheWriteTokens'),
    outputTokens: count('outputTokens'),
    reasoningTokens: count('reasoningTokens'),
    charged: count('charged'),
    outcomes: counts('outcomes'),
    statuses: counts('statuses'),
    firstTokens: counts('firstTokens'),
    durations: counts('durations'),
  }
}

type CountName = Exclude<keyof UsageSums, 'outcomes'>

/** One point for every hour or day of the span, in order. */
export function pointsOf(span: Span, totals: readonly (UsageDetails & { at: Date })[], parts: readonly UsagePoint[]) {
  const totalAt = new Map(totals.map((total) => [total.at.getTime(), total]))
  const partsAt = Map.groupBy(parts, ({ at }) => at.getTime())
  return momentsOf(span).map((at) => {
    const total = totalAt.get(at.getTime())
    const groups = (partsAt.get(at.getTime()) ?? []).map((part) => Object.assign(sumsOf(part), { id: part.group }))
    return Object.assign(sumsOf(total ?? NO_SUMS), {
      at,
      firstTokenMs: latencyOf(total?.firstTokens ?? []),
      durationMs: latencyOf(total?.durations ?? []),
      groups,
    })
  })
}
