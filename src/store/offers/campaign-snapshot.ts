import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { FUNDS, FUNDS_TABLES, type FundsRow } from './campaign-funds.ts'

/** The facts that decide whether an offer takes part, and can change at any moment without a change of the offer. */
export interface CampaignSnapshot {
  /** The operator's switch for the whole installation. */
  isOn: boolean
  campaigns: CampaignRow[]
  /** Feeds whose last run is not too old: their ids, and until when. */
  feeds: { id: string; expiresAt: Date }[]
}

/** Active, and of an active advertiser. */
export interface CampaignRow extends FundsRow {
  id: string
  advertiserId: string
  advertiser: string
  domain: string
  startsAt: Date | null
  endsAt: Date | null
  /** Changes with the hints, which are many and seldom change. */
  hintsVersion: string
}

export async function readCampaignSnapshot(db: Db): Promise<CampaignSnapshot> {
  const { is_on: isOn } = await db.selectFrom('recommendation_switch').select('is_on').executeTakeFirstOrThrow()
  const campaigns = await sql<CampaignRow>`
    select c.id, c.advertiser_id as "advertiserId", a.name as advertiser, a.domain, c.starts_at as "startsAt",
      c.ends_at as "endsAt", ${FUNDS},
      md5(array_to_json(c.context_hints)::text || array_to_json(c.negative_hints)::text) as "hintsVersion"
    from campaigns c join advertisers a on a.id = c.advertiser_id ${FUNDS_TABLES}
    where c.status = 'active' and a.status = 'active' and (c.ends_at is null or c.ends_at > now())
    order by c.created_at, c.id`.execute(db)
  const feeds = await sql<{ id: string; expiresAt: Date }>`
    select id, expires_at as "expiresAt" from feeds where expires_at > now() and removed_at is null`.execute(db)
  return { isOn, campaigns: campaigns.rows, feeds: feeds.rows }
}

export interface CampaignHints {
  id: string
  contextHints: string[]
  negativeHints: string[]
}

export async function readHints(db: Db, campaignIds: readonly string[]): Promise<CampaignHints[]> {
  if (campaignIds.length === 0) return []
  const { rows } = await sql<CampaignHints>`
    select id, context_hints as "contextHints", negative_hints as "negativeHints" from campaigns
    where id = any (${campaignIds}::uuid[])`.execute(db)
  return rows
}
