import type { Reply } from '../../api.ts'
import type { Option } from '../../components/select.tsx'

export type Report = Reply<'GET /api/advertisers/:advertiser/report'>
export type ReportRow = Report['rows'][number]
export type ReportKey = Report['by']

export const REPORT_FILTERS = ['by', 'campaign', 'range', 'from', 'to'] as const

/** The kinds of rows that a report can have, with their words. */
export const KEYS: Record<ReportKey, { option: string; title: string; column: string }> = {
  campaign: { option: 'By campaign', title: 'Campaigns', column: 'Campaign' },
  offer: { option: 'By offer', title: 'Offers', column: 'Offer' },
  hint: { option: 'By hint', title: 'Hints', column: 'Hint' },
  category: { option: 'By category', title: 'Categories', column: 'Category' },
  day: { option: 'By day', title: 'Days', column: 'Day (UTC)' },
}

export const KEY_OPTIONS: Option[] = Object.entries(KEYS).map(([value, { option }]) => ({ value, label: option }))

/** Returns the kind that the address names, or the first. */
export function keyOf(by: string | undefined): ReportKey {
  return by !== undefined && Object.hasOwn(KEYS, by) ? (by as ReportKey) : 'campaign'
}
