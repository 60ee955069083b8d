import type { RecommendationRow } from '../store/recommendations/reports.ts'

/** What a reply carried, as its call and its conversation show it. */
export function carriedOf(row: RecommendationRow | undefined) {
  if (row === undefined) return null
  const { id, turn, relevance, hint, priceNanos, label, state } = row
  return { id, ...namesIn(row), at: row.createdAt, turn, relevance, hint, priceNanos, label, state }
}

/** What was recommended and by whom, also where they are not there any more. */
export function namesIn({ headline, advertiser }: Pick<RecommendationRow, 'headline' | 'advertiser'>) {
  return { headline: headline ?? 'Removed', advertiser: advertiser ?? 'Removed' }
}
