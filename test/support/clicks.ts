/** Recommendations that were shown, and clicks on them, as a gateway would write them. */
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { ClickVerdict } from '../../src/rules/clicks/verdict.ts'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { creditAdvertiser } from '../../src/store/billing/wallets.ts'
import type { Db } from '../../src/store/database.ts'
import { applyClicks, type ClickRecord } from '../../src/store/recommendations/clicks.ts'
import { findEarnings } from '../../src/store/recommendations/earnings.ts'
import { insertRecommendations, setRecommendationStates } from '../../src/store/recommendations/records.ts'

export async function fund(db: Db, advertiserId: string, nanos: bigint): Promise<void> {
  const id = uuidv7()
  await creditAdvertiser(db, { id, advertiserId, amount: nanos, kind: 'grant', reference: id, reason: null })
}

/** Returns their ids. */
export async function show(db: Db, match: Match, projectId: string, count = 1): Promise<string[]> {
  const records = Array.from({ length: count }, () => ({
    ...match,
    id: uuidv7(),
    projectId,
    callId: uuidv7(),
    turn: 1,
    label: 'Ad',
    conversation: undefined,
    priceNanos: BigInt(match.priceNanos),
  }))
  await insertRecommendations(db, records)
  const ids = records.map(({ id }) => id)
  await setRecommendationStates(
    db,
    ids.map((id) => ({ id, state: 'delivered' })),
  )
  return ids
}

export function clickOn(recommendationId: string, changes: Partial<ClickRecord> = {}): ClickRecord {
  return { id: uuidv7(), feeId: uuidv7(), recommendationId, verdict: 'valid', networkTag: undefined, ...changes }
}

export async function click(
  db: Db,
  recommendationId: string,
  changes: Partial<ClickRecord> = {},
): Promise<ClickVerdict> {
  const [verdict] = await applyClicks(db, [clickOn(recommendationId, changes)])
  if (verdict instanceof Error || verdict === undefined) throw verdict ?? new Error('no verdict')
  return verdict
}

/** Lets a project have earned that much, which is pending. */
export async function earn(db: Db, projectId: string, match: Match): Promise<bigint> {
  await fund(db, match.advertiserId, BigInt(match.priceNanos))
  const [shown = ''] = await show(db, match, projectId)
  await click(db, shown)
  return (await findEarnings(db, projectId)).pending
}

/** For a project without clicks: an unused id. */
export async function firstClickOf(db: Db, projectId: string): Promise<string> {
  const query = db.selectFrom('clicks').select('id').where('project_id', '=', projectId)
  const first = await query.orderBy('id').executeTakeFirst()
  return first?.id ?? uuidv7()
}
