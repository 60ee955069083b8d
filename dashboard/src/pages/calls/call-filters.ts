import { DAY_MS, HOUR_MS } from '../../durations.ts'
import type { Filters } from '../../filters.ts'
import { formatMoment, formatMoneyExactly } from '../../formats.ts'

/** The filters that the address of the list may have. */
export const CALL_FILTERS = [
  'id',
  'outcome',
  'model',
  'key',
  'conversation',
  'metadata_key',
  'metadata_value',
  'streamed',
  'status',
  'error_code',
  'min_cost',
  'price',
  'cached',
  'recommendation',
  'since',
  'from',
  'to',
  'live',
] as const
export type CallFilterName = (typeof CALL_FILTERS)[number]
export type ChosenFilters = Filters<CallFilterName>

const SINCE: Record<string, number> = { '1h': HOUR_MS, '24h': DAY_MS, '7d': 7 * DAY_MS, '30d': 30 * DAY_MS }

export function sinceOf(since: string | undefined): string | undefined {
  const backMs = SINCE[since ?? '']
  return backMs === undefined ? undefined : new Date(Date.now() - backMs).toISOString()
}

/** A key without its value, or the other way round, is not asked for yet. */
export function withoutHalfPair({ metadata_key: key, metadata_value: value, ...others }: ChosenFilters): ChosenFilters {
  if (key === undefined || value === undefined) return others
  return { ...others, metadata_key: key, metadata_value: value }
}

/** Times that nobody chose from a list, such as the day of a bar that led here. */
export function rangeInWords({ from, to }: ChosenFilters, nowMs: number, zone?: string): string | undefined {
  const words = (iso: string) =>
    formatMoment(iso, nowMs, zone)
      .replace(/^\d\d:\d\d:\d\d$/, 'today, $&')
      .replace(/:00$/, '')
  if (from !== undefined && to !== undefined) return `${words(from)} to ${words(to)}`
  if (from !== undefined) return `Since ${words(from)}`
  return to === undefined ? undefined : `Before ${words(to)}`
}

const MIN_COSTS = ['0.001', '0.01', '0.1', '1']
export const COSTS = MIN_COSTS.map((value) => ({ value, label: `From $${value}` }))

export interface Chip {
  words: string
  /** The filters that are dropped with it. */
  names: CallFilterName[]
}

/** The filters that figures of other pages lead here with and that have no field of their own. */
export function chipsOf(filters: ChosenFilters, nowMs: number, zone?: string): Chip[] {
  const { since, min_cost: cost, price, cached, recommendation } = filters
  const range = since === undefined ? rangeInWords(filters, nowMs, zone) : undefined
  const chips: (Chip | undefined)[] = [
    range === undefined ? undefined : { words: range, names: ['from', 'to'] },
    cost === undefined || MIN_COSTS.includes(cost) ? undefined : { words: costWords(cost), names: ['min_cost'] },
    price === undefined ? undefined : { words: `Price ${price}`, names: ['price'] },
    cached === undefined
      ? undefined
      : { words: cached === 'true' ? 'With caching' : 'Without caching', names: ['cached'] },
    recommendation === undefined
      ? undefined
      : { words: `Recommendation: ${recommendation.replaceAll('_', ' ')}`, names: ['recommendation'] },
  ]
  return chips.filter((chip) => chip !== undefined)
}

function costWords(cost: string): string {
  const nanos = Math.round(Number(cost) * 1e9)
  if (!Number.isSafeInteger(nanos)) return `From $${cost}`
  return nanos === 1 ? 'Charged' : `From ${formatMoneyExactly(String(nanos))}`
}
