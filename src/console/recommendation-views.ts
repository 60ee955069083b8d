import { VERDICT_LABELS } from '../rules/clicks/verdict.ts'
import type { Db } from '../store/database.ts'
import { findClicksOn, type ClickOnRecommendation } from '../store/recommendations/click-pages.ts'
import { findRecommendationsOfCalls, type RecommendationRow } from '../store/recommendations/reports.ts'

export interface Carried extends RecommendationRow {
  clicks: readonly ClickOnRecommendation[]
}

/** What the replies of these calls carried, by call, with the clicks on it. */
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

/** What a reply carried, as its call and its conversation show it. */
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

/** What was recommended and by whom, also where they are not there any more. */
export function namesIn({ headline, advertiser }: Pick<RecommendationRow, 'headline' | 'advertiser'>) {
  return { headline: headline ?? 'Removed', advertiser: advertiser ?? 'Removed' }
}
