import type { Nanos } from '../money.ts'

/** What an advertiser is told of its recommendations: never so little that it could be about a single reader. */
export const SERVES_MIN = 10

export interface ReportRow {
  /** Null: all others together. */
  key: string | null
  /** Null, as the clicks are: fewer than SERVES_MIN. */
  serves: bigint | null
  /** Those that are paid for. */
  validClicks: bigint | null
  /** All others by their verdict, and `reversed`. */
  otherClicks: Record<string, bigint> | null
  /** Always told: it has been paid. */
  spentNanos: Nanos
  /** Of a click that was paid for; null where there is none. */
  averageNanos: Nanos | null
}

interface Sum {
  key: string | null
  event: string
  times: bigint
  spentNanos: bigint
}

/** Most served first, and last of all the others. */
export function reportRowsOf(sums: readonly Sum[]): ReportRow[] {
  const byKey = Map.groupBy(sums, ({ key }) => key)
  return [...byKey]
    .map(([key, own]) => rowOf(key, own))
    .toSorted((a, b) => Number(a.key === null) - Number(b.key === null) || Number((b.serves ?? 0n) - (a.serves ?? 0n)))
}

function rowOf(key: string | null, sums: readonly Sum[]): ReportRow {
  const times = new Map(sums.map((sum) => [sum.event, sum.times]))
  const spentNanos = sums.reduce((all, sum) => all + sum.spentNanos, 0n)
  const serves = times.get('serve') ?? 0n
  if (serves < SERVES_MIN)
    return { key, serves: null, validClicks: null, otherClicks: null, spentNanos, averageNanos: null }
  const validClicks = times.get('valid') ?? 0n
  const others = [...times]
    .filter(([event]) => event !== 'serve' && event !== 'valid')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  const averageNanos = validClicks > 0n ? spentNanos / validClicks : null
  return { key, serves, validClicks, otherClicks: Object.fromEntries(others), spentNanos, averageNanos }
}
