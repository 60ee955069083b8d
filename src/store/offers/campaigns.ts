import type { Pacing } from '../../rules/recommendations/pacing.ts'
import type { Db } from '../database.ts'
import { LISTED_MAX } from '../listed.ts'

export interface CampaignSettings {
  bid_nanos?: bigint
  daily_budget_nanos?: bigint | null
  total_budget_nanos?: bigint | null
  pacing?: Pacing
  starts_at?: Date | null
  ends_at?: Date | null
  context_hints?: string[]
  negative_hints?: string[]
  status?: 'active' | 'paused'
}

export interface NewCampaign extends CampaignSettings {
  id: string
  advertiser_id: string
  name: string
  bid_nanos: bigint
}

export async function insertCampaign(db: Db, campaign: NewCampaign): Promise<void> {
  await db.insertInto('campaigns').values(campaign).execute()
}

export async function updateCampaign(db: Db, id: string, settings: CampaignSettings): Promise<void> {
  await db.updateTable('campaigns').set(settings).where('id', '=', id).execute()
}

export async function countCampaigns(db: Db, advertiserId: string): Promise<number> {
  const { campaigns } = await db
    .selectFrom('campaigns')
    .select(({ fn }) => fn.countAll<bigint>().as('campaigns'))
    .where('advertiser_id', '=', advertiserId)
    .executeTakeFirstOrThrow()
  return Number(campaigns)
}

export async function findCampaign(db: Db, by: { id: string } | { advertiserId: string; name: string }) {
  const query = db
    .selectFrom('campaigns as c')
    .innerJoin('advertisers as a', 'a.id', 'c.advertiser_id')
    .selectAll('c')
    .select('a.name as advertiser')
  const chosen =
    'id' in by
      ? query.where('c.id', '=', by.id)
      : query.where('c.advertiser_id', '=', by.advertiserId).where('c.name', '=', by.name)
  return chosen.executeTakeFirst()
}

/** All of them, those of one advertiser, or one of those. */
export async function listCampaigns(db: Db, advertiserId?: string, campaignId?: string) {
  return db
    .selectFrom('campaigns as c')
    .innerJoin('advertisers as a', 'a.id', 'c.advertiser_id')
    .selectAll('c')
    .select(({ selectFrom }) => [
      'a.name as advertiser',
      selectFrom('offers as o')
        .whereRef('o.campaign_id', '=', 'c.id')
        .where('o.removed_at', 'is', null)
        .select(({ fn }) => fn.countAll<bigint>().as('n'))
        .as('offers'),
    ])
    .$if(advertiserId !== undefined, (query) => query.where('c.advertiser_id', '=', advertiserId ?? ''))
    .$if(campaignId !== undefined, (query) => query.where('c.id', '=', campaignId ?? ''))
    .orderBy('a.name')
    .orderBy('c.name')
    .limit(LISTED_MAX)
    .execute()
}
