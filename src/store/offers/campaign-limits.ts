import { CHANCES_DAYS, limitOf, type CampaignLimit } from '../../rules/recommendations/chances.ts'
import type { Funds } from '../../rules/recommendations/pacing.ts'
import type { Db } from '../database.ts'
import { readChances } from './campaign-chances.ts'
import { readFunds } from './campaign-funds.ts'

export interface Limited {
  funds: Funds
  /** Undefined: nothing limits it. */
  limit: CampaignLimit | undefined
}

/** Returns what these campaigns could spend, and what keeps them from being recommended more often. */
export async function readLimits(db: Db, campaignIds: readonly string[], nowMs: number): Promise<Map<string, Limited>> {
  const funds = await readFunds(db, campaignIds)
  const chances = await readChances(db, campaignIds, CHANCES_DAYS)
  return new Map([...funds].map(([id, own]) => [id, { funds: own, limit: limitOf(own, chances.get(id), nowMs) }]))
}
