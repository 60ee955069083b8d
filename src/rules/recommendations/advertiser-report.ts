import { VERDICT_LABELS, type ClickVerdict } from '../clicks/verdict.ts'
import type { Nanos } from '../money.ts'

/** The fewest recommendations that an advertiser is told about: fewer could be about a single reader. */
export const SERVES_MIN = 10

export const REPORT_KEYS = ['campaign', 'offer', 'hint', 'category', 'day'] as const
export type ReportKey = (typeof REPORT_KEYS)[number]

export interface ReportSum {
  /** A campaign's or an offer's id, a hint, a category, a day. Null: of all others together. */
  key: string | null
  /** 'serve', 'conversion', the verdict of a click, or 'reversed' of one that was valid until it was taken back. */
  event: string
  times: bigint
  /** The amount that was paid or, for clicks that were taken back, given back. */
  spentNanos: bigint
}

export interface ReportFigures {
  /** Null, as clicks and conversions are: fewer than SERVES_MIN. */
  serves: bigint | null
  /** Clicks that are paid for. */
  validClicks: bigint | null
  /** All others by their verdict, and `reversed`. */
  otherClicks: Record<string, bigint> | null
  /** From clicks on what is counted here, whenever they were reported. */
  conversions: bigint | null
  /** Always told: it has been paid. */
  spentNanos: Nanos
  /** Per click that was paid for; null where there is none. */
  averageNanos: Nanos | null
}

export interface ReportRow extends ReportFigures {
  /** Null: all others together. */
  key: string | null
}

/** Most served first, days newest first, and last of all the others. */
export function reportRowsOf(sums: readonly ReportSum[], by: ReportKey): ReportRow[] {
  const rows = [...Map.groupBy(sums, ({ key }) => key)].map(([key, own]) => rowOf(key, own))
  const inOrder = (a: ReportRow, b: ReportRow): number =>
    by === 'day' ? (String(a.key) > String(b.key) ? -1 : 1) : Number((b.serves ?? 0n) - (a.serves ?? 0n))
  return rows.toSorted((a, b) => Number(a.key === null) - Number(b.key === null) || inOrder(a, b))
}

const NO_CLICKS: ReadonlySet<string> = new Set(['serve', 'valid', 'conversion'])

function rowOf(key: string | null, sums: readonly ReportSum[]): ReportRow {
  const times = new Map(sums.map((sum) => [sum.event, sum.times]))
  const spent = sums.reduce((all, sum) => all + (sum.event === 'reversed' ? -sum.spentNanos : sum.spentNanos), 0n)
  // A reversal may be found under another key than its click: an offer's category may have changed in between.
  const spentNanos = atLeastNone(spent)
  const serves = times.get('serve') ?? 0n
  if (serves < SERVES_MIN) {
    const untold = { serves: null, validClicks: null, otherClicks: null, conversions: null, averageNanos: null }
    return { key, ...untold, spentNanos }
  }
  const validClicks = atLeastNone((times.get('valid') ?? 0n) - (times.get('reversed') ?? 0n))
  const others = [...times].filter(([event]) => !NO_CLICKS.has(event)).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return {
    key,
    serves,
    validClicks,
    otherClicks: Object.fromEntries(others),
    conversions: times.get('conversion') ?? 0n,
    spentNanos,
    averageNanos: averageOf(spentNanos, validClicks),
  }
}

/** Sums only the figures that the rows tell: a figure that is withheld must not be found by subtraction. */
export function totalOf(rows: readonly ReportRow[]) {
  const sum = (figure: (row: ReportRow) => bigint | null) => rows.reduce((all, row) => all + (figure(row) ?? 0n), 0n)
  const validClicks = sum((row) => row.validClicks)
  return {
    serves: sum((row) => row.serves),
    validClicks,
    conversions: sum((row) => row.conversions),
    spentNanos: sum((row) => row.spentNanos),
    averageNanos: averageOf(
      sum((row) => (row.validClicks === null ? null : row.spentNanos)),
      validClicks,
    ),
  }
}

function averageOf(spentNanos: Nanos, clicks: bigint): Nanos | null {
  return clicks > 0n ? spentNanos / clicks : null
}

function atLeastNone(value: bigint): bigint {
  return value > 0n ? value : 0n
}

/** Returns a row's name: that of the campaign or the offer, where it is still there. */
export function nameOfRow(by: ReportKey, key: string | null, names: ReadonlyMap<string, string>): string {
  if (key === null) return 'All others'
  if (by === 'campaign' || by === 'offer') return names.get(key) ?? `Removed (${key})`
  if (key !== '') return key
  return by === 'hint' ? 'The offer’s own words' : 'None'
}

/** A verdict of a report in words. */
export function labelOfClicks(verdict: string): string {
  return verdict === 'reversed' ? 'Taken back' : (VERDICT_LABELS[verdict as ClickVerdict]?.label ?? verdict)
}
