import { sql } from 'kysely'
import type { ConversionVerdict } from '../../rules/clicks/conversions.ts'
import type { Db } from '../database.ts'

export interface NewConversion {
  id: string
  keyDigest: Buffer
  eventId: string
  clickId: string
  value: number
  currency: string
  happenedAt: Date
}

export interface RecordedConversion {
  id: string
  verdict: ConversionVerdict
}

/** Undefined: nobody has that key. An event that was told before is as it was. */
export async function recordConversion(db: Db, conversion: NewConversion): Promise<RecordedConversion | undefined> {
  const { id, keyDigest, eventId, clickId, value, currency, happenedAt } = conversion
  const { rows } = await sql<RecordedConversion>`
    select conversion_id as id, decided as verdict from conversion_record(${keyDigest}, ${id}, ${eventId}, ${clickId},
      ${value}, ${currency}, ${happenedAt})`.execute(db)
  return rows[0]
}

export interface ConversionSum {
  campaign: string | null
  verdict: ConversionVerdict
  currency: string
  conversions: bigint
  value: string
}

/** Sums the conversions that an advertiser has reported, by campaign: those that count first. */
export async function sumConversions(db: Db, advertiserId: string): Promise<ConversionSum[]> {
  const { rows } = await sql<ConversionSum>`
    select c.name as campaign, v.verdict, v.currency, count(*) as conversions, trim_scale(sum(v.amount))::text as value
    from conversions v left join campaigns c on c.id = v.campaign_id where v.advertiser_id = ${advertiserId}
    group by c.id, c.name, v.verdict, v.currency
    order by v.verdict <> 'counted', c.name, v.verdict, v.currency limit 1000`.execute(db)
  return rows
}

/** Returns how many were forgotten. One of these that is told again is looked at anew. */
export async function expireUncountedConversions(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from conversions where id in (
      select id from conversions where verdict <> 'counted' and created_at < now() - ${keptMs} * interval '1 ms'
      limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/** The one before it is of no use any more. */
export async function setConversionKey(db: Db, advertiserId: string, digest: Buffer): Promise<void> {
  await db.updateTable('advertisers').set({ conversion_key_digest: digest }).where('id', '=', advertiserId).execute()
}

export async function setAddsClickId(db: Db, advertiserId: string, addsClickId: boolean): Promise<void> {
  await db.updateTable('advertisers').set({ adds_click_id: addsClickId }).where('id', '=', advertiserId).execute()
}
