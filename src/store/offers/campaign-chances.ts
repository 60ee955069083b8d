import { sql } from 'kysely'
import type { Chances } from '../../rules/recommendations/chances.ts'
import type { Db } from '../database.ts'

export interface CampaignChances extends Chances {
  campaignId: string
}

/** On top of what other matchers have counted today. Of campaigns that are not there any more, nothing. */
export async function addChances(db: Db, counted: readonly CampaignChances[]): Promise<void> {
  if (counted.length === 0) return
  const column = (name: keyof Chances) => counted.map((each) => each[name].toString())
  // In one order, so that two matchers never wait for each other.
  await sql`
    insert into campaign_chances as c (campaign_id, day, open, fitted, contended, won)
    select id, (now() at time zone 'utc')::date, x.open, x.fitted, x.contended, x.won
    from unnest(${counted.map(({ campaignId }) => campaignId)}::uuid[], ${column('open')}::int8[],
        ${column('fitted')}::int8[], ${column('contended')}::int8[], ${column('won')}::int8[])
      as x (id, open, fitted, contended, won) join campaigns using (id)
    order by id
    on conflict (campaign_id, day) do update set open = c.open + excluded.open, fitted = c.fitted + excluded.fitted,
      contended = c.contended + excluded.contended, won = c.won + excluded.won`.execute(db)
}

/** Sums the chances of the last days, today included. A campaign that had none is not in the map. */
export async function readChances(db: Db, campaignIds: readonly string[], days: number): Promise<Map<string, Chances>> {
  const { rows } = await sql<CampaignChances>`
    select campaign_id as "campaignId", sum(open)::int8 as open, sum(fitted)::int8 as fitted,
      sum(contended)::int8 as contended, sum(won)::int8 as won
    from campaign_chances
    where campaign_id = any (${campaignIds}::uuid[]) and day > (now() at time zone 'utc')::date - ${days}::int
    group by 1`.execute(db)
  return new Map(rows.map(({ campaignId, ...chances }) => [campaignId, chances]))
}

/** Returns how many rows were forgotten. By campaign, because that is how the rows are found. */
export async function expireChances(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from campaign_chances where (campaign_id, day) in (
      select x.* from campaigns c cross join lateral (
        select campaign_id, day from campaign_chances d where d.campaign_id = c.id
          and d.day < (now() at time zone 'utc' - ${keptMs} * interval '1 ms')::date limit ${most}) x
      limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
