import { VERDICT_LABELS } from '../rules/clicks/verdict.ts'
import type { Db } from '../store/database.ts'
import { findClicksOn, type ClickOnRecommendation } from '../store/recommendations/click-pages.ts'
import { findRecommendationsOfCalls, type RecommendationRow } from '../store/recommendations/reports.ts'

export interface Carried extends RecommendationRow {
  clicks: readonly ClickOnRecommendation[]
}

/** Returns the recommendations in the replies of these calls, by call, with the clicks on them. */
export async function findCarried(
  db: Db,
  projectId: string,
  callIds: readonly string[],
): Promise<Map<string, Carried>> {
  const found = await findRecommendationsOfCalls(db, projectId, callIds)
  const ids = [...found.values()].map(({ id }) => id)
  const clicks = await findClicksOn(db, projectId, ids)
  return new Map([...found].map(([call, row]) => [call, { ...row, clicks: clicks.get(row.id) ?? [] }]))
}

/** Shows the recommendation in a reply, for its call and its conversation. */
export function carriedOf(row: Carried | undefined) {
  if (row === undefined) return null
  const { id, turn, relevance, hint, priceNanos, label, state } = row
  return {
    id,
    ...namesIn(row),
    at: row.createdAt,
    turn,
    relevance,
    hint,
    priceNanos,
    label,
    state,
    clicks: row.clicks.map(clickUnder),
  }
}

function clickUnder({ id, at, verdict, share, state }: ClickOnRecommendation) {
  return { id, at, verdict, label: VERDICT_LABELS[verdict].label, shareNanos: share, state }
}

/** Names the offer and the advertiser, also where they no longer exist. */
export function namesIn({ headline, advertiser }: Pick<RecommendationRow, 'headline' | 'advertiser'>) {
  return { headline: headline ?? 'Removed', advertiser: advertiser ?? 'Removed' }
}
