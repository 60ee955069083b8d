import type { Option } from '../../components/select.tsx'
import { DAY_MS, HOUR_MS } from '../../durations.ts'

/** The filters for time in the address: a named range up to now, or two dates in UTC. */
export const RANGE_FILTERS = ['range', 'from', 'to'] as const
export type RangeFilters = Partial<Record<(typeof RANGE_FILTERS)[number], string>>

const LAST_30_DAYS = { label: 'Last 30 days', hours: 30 * 24, every: 'day' as const }
const RANGES: Record<string, { label: string; hours: number; every: 'hour' | 'day' }> = {
  '24h': { label: 'Last 24 hours', hours: 24, every: 'hour' },
  '7d': { label: 'Last 7 days', hours: 7 * 24, every: 'day' },
  '30d': LAST_30_DAYS,
  '90d': { label: 'Last 90 days', hours: 90 * 24, every: 'day' },
  '12m': { label: 'Last 12 months', hours: 365 * 24, every: 'day' },
}
const DEFAULT_RANGE = '30d'

export const RANGE_OPTIONS: Option[] = [
  ...Object.entries(RANGES).map(([value, { label }]) => ({ value, label })),
  { value: 'custom', label: 'Choose dates' },
]

/** Where only days are counted. */
export const RANGES_BY_DAY = RANGE_OPTIONS.filter(({ value }) => RANGES[value]?.every !== 'hour')

export interface Span {
  from: string
  to?: string
  every?: 'hour' | 'day'
}

/** Rounded to the hour or day, so that the same range is the same request while one looks around. */
export function spanOf({ range = DEFAULT_RANGE, from, to }: RangeFilters, nowMs: number): Span {
  if (range === 'custom' && from) return { from, ...(to && { to }) }
  const { hours, every } = RANGES[range] ?? LAST_30_DAYS
  const unitMs = every === 'hour' ? HOUR_MS : DAY_MS
  const firstMs = Math.floor(nowMs / unitMs) * unitMs + unitMs - hours * HOUR_MS
  return { from: new Date(firstMs).toISOString(), every }
}

export function rangeOf({ range }: RangeFilters): string {
  return range ?? DEFAULT_RANGE
}

export function isoDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}
