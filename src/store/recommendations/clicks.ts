import { sql } from 'kysely'
import type { ClickVerdict } from '../../rules/clicks/verdict.ts'
import { EARNINGS_PENDING_DAYS } from '../../rules/clicks/earnings.ts'
import type { Db } from '../database.ts'

/** The facts about a recommendation that its link needs. */
export interface ShownRecommendation {
  id: string
  /** Where it led when it was shown; null: it may not be advertised any more, and leads nowhere. */
  link: string | null
  advertiser: string
  /** The full name of the payer, where it is known. */
  legalName: string | null
  domain: string
  /** Whether the advertiser wants the click's id in the address. */
  addsClickId: boolean
  /** The template of the affiliate network that the link passes through. */
  trackingTemplate: string | null
  /** The offer's; null when it has none, or the offer is no longer there. */
  category: string | null
  /** The advertiser's words that the conversation came near to, where that was written down. */
  hint: string | null
  label: string
  state: 'delivered' | 'aborted' | 'test'
  shownAt: Date
  /** The tag of the network that asked for the answer, under the salt of that day. */
  networkTag: Buffer | null
}

/** In the order asked. */
export async function findShown(db: Db, ids: readonly string[]): Promise<(ShownRecommendation | undefined)[]> {
  const { rows } = await sql<ShownRecommendation>`
    select id, link, advertiser, legal_name as "legalName", domain, adds_click_id as "addsClickId",
      tracking_template as "trackingTemplate", category, hint, label, state, shown_at as "shownAt", network_tag as "networkTag"
    from find_shown(${ids}::uuid[])`.execute(db)
  const found = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => found.get(id))
}

export interface ClickRecord {
  id: string
  /** The id of the movement of the operator's part. */
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
