import { sql } from 'kysely'
import type { ClickVerdict } from '../../rules/clicks/verdict.ts'
import { EARNINGS_PENDING_DAYS } from '../../rules/clicks/earnings.ts'
import type { Db } from '../database.ts'
import { MAY_BE_ADVERTISED } from '../offers/offers.ts'

/** What a link of a recommendation needs to know of it. */
export interface ShownRecommendation {
  id: string
  /** Where it led when it was shown; null: it may not be advertised any more, and leads nowhere. */
  link: string | null
  advertiser: string
  /** Who pays, by its full name, where that is known. */
  legalName: string | null
  domain: string
  /** Whether the advertiser wants the click's id in the address. */
  addsClickId: boolean
  /** Of the affiliate network that the link passes through. */
  trackingTemplate: string | null
  /** Of the offer; null when it is not there any more. */
  category: string | null
  /** The advertiser's words that the conversation came near to, where that was written down. */
  hint: string | null
  label: string
  state: 'delivered' | 'aborted' | 'test'
  shownAt: Date
  /** Of the network that asked for the answer, under the salt of that day. */
  networkTag: Buffer | null
}

/** In the order asked. A gateway of the version before this one writes no link of its own: then it is the offer's. */
export async function findShown(db: Db, ids: readonly string[]): Promise<(ShownRecommendation | undefined)[]> {
  const { rows } = await sql<ShownRecommendation>`
    select r.id, case when ${MAY_BE_ADVERTISED} then coalesce(r.link, o.link) end as link, a.name as advertiser, a.legal_name as "legalName", a.domain, a.adds_click_id as "addsClickId", a.tracking_template as "trackingTemplate",
      nullif(o.category, '') as category, to_jsonb(r) ->> 'hint' as hint, r.label, r.state, r.created_at as "shownAt", r.network_tag as "networkTag"
    from recommendations r join advertisers a on a.id = r.advertiser_id
      left join campaigns c on c.id = r.campaign_id left join offers o on o.id = r.offer_id
    where r.id = any (${ids}::uuid[])`.execute(db)
  const found = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => found.get(id))
}

export interface ClickRecord {
  id: string
  /** Of the movement of the operator's part. */
  feeId: string
  recommendationId: string
  /** As far as the click itself tells. */
  verdict: ClickVerdict
  networkTag: Buffer | undefined
}

/** Writes them down, pays for those that are valid, and says what each came to, in order. Sending them again changes nothing. */
export async function applyClicks(db: Db, clicks: readonly ClickRecord[]): Promise<(ClickVerdict | Error)[]> {
  const asked = JSON.stringify(
    clicks.map(({ id, feeId, recommendationId, verdict, networkTag }) => ({
      id,
      fee_id: feeId,
      recommendation_id: recommendationId,
      verdict,
      network_tag: networkTag?.toString('hex'),
    })),
  )
  const { rows } = await sql<{ id: string; verdict: ClickVerdict }>`
    select click_id as id, decided as verdict from clicks_apply(${asked})`.execute(db)
  const verdicts = new Map(rows.map(({ id, verdict }) => [id, verdict]))
  return clicks.map(({ id }) => verdicts.get(id) ?? new Error('its recommendation is not stored any more'))
}

/** Undefined: there is none any more. */
export async function findClickSalt(db: Db, day: string): Promise<Buffer | undefined> {
  const { rows } = await sql<{ salt: Buffer | null }>`select click_salt(${day}::date) as salt`.execute(db)
  return rows[0]?.salt ?? undefined
}

/** Returns how many clicks' earnings went to the wallets. */
export async function releaseEarnings(db: Db, most: number): Promise<number> {
  const { rows } = await sql<{ released: number }>`
    select earnings_release(${most}, ${EARNINGS_PENDING_DAYS} * interval '1 day') as released`.execute(db)
  return rows[0]?.released ?? 0
}

/** Returns how many were destroyed. Of today and yesterday they are still needed. */
export async function destroyClickSalts(db: Db): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('click_salts')
    .where('day', '<', sql<Date>`(now() at time zone 'utc')::date - 1`)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** False: it was reversed before. */
export async function reverseClick(db: Db, id: string, reason: string): Promise<boolean> {
  const { rows } = await sql<{ reversed: boolean }>`select click_reverse(${id}, ${reason}) as reversed`.execute(db)
  return rows[0]?.reversed ?? false
}
