import { sql, type RawBuilder } from 'kysely'
import type { Db } from '../database.ts'

/**
 * What advertisers are told, by day: recommendations that were delivered, and clicks by verdict. A row counts what was written down
 * between two moments that no open transaction can write into any more, so everything is counted once.
 */
const ONE_AT_A_TIME = 'advertiser days'
/** An id is made when its call begins, which may be an hour before it is written; and clocks of gateways differ. */
const WRITTEN_AFTER_MS = 2 * 60 * 60_000
const WRITTEN_BEFORE_MS = 5 * 60_000
/** Longer ones would not fit into an index. */
const VALUE_CHARS_MAX = 300

/** Adds up the next `stepMs`, but nothing after `boundary`. Returns how far it came; undefined when another worker is at it. */
export function addUpAdvertiserDays(db: Db, boundary: Date, stepMs: number): Promise<Date | undefined> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ is_ours: boolean }>`
      select pg_try_advisory_xact_lock(hashtext(${ONE_AT_A_TIME})) as is_ours`.execute(tx)
    if (!rows[0]?.is_ours) return undefined
    const { through } = await tx.selectFrom('advertiser_days_progress').select('through').executeTakeFirstOrThrow()
    const from = through ?? (await findBeginning(tx)) ?? boundary
    const to = new Date(Math.min(from.getTime() + stepMs, boundary.getTime()))
    if (to < from) return from
    if (to > from) await addWritten(tx, from, to)
    await tx.updateTable('advertiser_days_progress').set({ through: to }).execute()
    return to
  })
}

/** Nothing was written before the first call with a recommendation began. */
async function findBeginning(tx: Db): Promise<Date | undefined> {
  const { rows } = await sql<{ began_at: Date }>`
    select time_of_id(id) - interval '1 hour' as began_at from recommendations order by id limit 1`.execute(tx)
  return rows[0]?.began_at
}

async function addWritten(tx: Db, from: Date, to: Date): Promise<void> {
  // Statistics lag behind what is newest: the planner would read whole days to find a few rows.
  for (const setting of ['enable_hashjoin', 'enable_mergejoin', 'jit'])
    await sql`set local ${sql.ref(setting)} = off`.execute(tx)
  const [first, last] = [new Date(from.getTime() - WRITTEN_AFTER_MS), new Date(to.getTime() + WRITTEN_BEFORE_MS)]
  await sql`
    with facts as (
      select advertiser_id, campaign_id, offer_id, hint, time_of_id(id) as at, 'serve' as event, 0 as price_nanos
      from recommendations
      where created_at > ${from} and created_at <= ${to} and state = 'delivered'
        and id >= first_id_of(${first}::timestamptz) and id < first_id_of(${last}::timestamptz)
      union all
      select k.advertiser_id, k.campaign_id, k.offer_id, r.hint, time_of_id(k.id), k.verdict, k.price_nanos
      from clicks k left join recommendations r on r.id = k.recommendation_id
      -- What a publisher tries out is nothing to an advertiser.
      where k.written_at > ${from} and k.written_at <= ${to} and k.verdict <> 'test'
    ), sums as materialized (
      select advertiser_id, campaign_id, offer_id, coalesce(hint, '') as hint, (at at time zone 'utc')::date as day, event,
        count(*) as times, sum(price_nanos) as spent_nanos
      from facts group by 1, 2, 3, 4, 5, 6
    )
    insert into advertiser_days as d (advertiser_id, dimension, day, campaign_id, value, event, times, spent_nanos)
    select s.advertiser_id, v.dimension, s.day, s.campaign_id, left(v.value, ${VALUE_CHARS_MAX}), s.event, sum(s.times),
      sum(s.spent_nanos)
    from sums s left join offers o on o.id = s.offer_id cross join lateral (values ('campaign', ''), ('hint', s.hint),
      ('offer', s.offer_id::text), ('category', coalesce(o.category, ''))) as v (dimension, value)
    group by 1, 2, 3, 4, 5, 6 order by 1, 2, 5, 3, 4, 6
    on conflict (advertiser_id, dimension, value, day, campaign_id, event) do update
      set times = d.times + excluded.times, spent_nanos = d.spent_nanos + excluded.spent_nanos`.execute(tx)
}

export const REPORT_KEYS = ['campaign', 'offer', 'hint', 'category', 'day'] as const
export type ReportKey = (typeof REPORT_KEYS)[number]

export interface ReportAsked {
  advertiserId: string
  campaignId?: string | undefined
  by: ReportKey
  /** The first day, as 2026-11-18 (UTC). */
  from: string
  /** Rows with fewer are in the row of the others. */
  servesMin: number
  /** And so are those beyond so many. */
  most: number
}

export interface ReportSum {
  /** A campaign's or an offer's id, a hint, a category, a day. Null: of all others together. */
  key: string | null
  event: string
  times: bigint
  spentNanos: bigint
}

/** Of days: the columns of the roll-up that a key is made of, and how a single click has the same. */
const KEYS: Record<ReportKey, { dimension: string; ofDays: RawBuilder<unknown>; ofClick: RawBuilder<unknown> }> = {
  campaign: { dimension: 'campaign', ofDays: sql`d.campaign_id::text`, ofClick: sql`k.campaign_id::text` },
  offer: { dimension: 'offer', ofDays: sql`d.value`, ofClick: sql`k.offer_id::text` },
  hint: { dimension: 'hint', ofDays: sql`d.value`, ofClick: sql`coalesce(r.hint, '')` },
  category: { dimension: 'category', ofDays: sql`d.value`, ofClick: sql`coalesce(o.category, '')` },
  day: {
    dimension: 'campaign',
    ofDays: sql`d.day::text`,
    ofClick: sql`(time_of_id(k.id) at time zone 'utc')::date::text`,
  },
}

/**
 * Rows of those that were served most, and one of all others: what the whole came to, less what is shown, so that nobody adds up
 * every offer. Clicks that were taken back are no longer `valid` but `reversed`, and cost nothing.
 */
export async function sumAdvertiserDays(db: Db, asked: ReportAsked): Promise<ReportSum[]> {
  const { advertiserId, campaignId = null, by, from, servesMin, most } = asked
  const { dimension, ofDays, ofClick } = KEYS[by]
  const within = sql`d.advertiser_id = ${advertiserId} and d.day >= ${from}::date
    and (${campaignId}::uuid is null or d.campaign_id = ${campaignId}::uuid)`
  const { rows } = await sql<ReportSum>`
    with shown as materialized (
      select ${ofDays} as key from advertiser_days d
      where ${within} and d.dimension = ${dimension} and d.event = 'serve'
      group by 1 having sum(d.times) >= ${servesMin} order by sum(d.times) desc, 1 limit ${most}
    ), taken_back as materialized (
      select left(${ofClick}, ${VALUE_CHARS_MAX}) as key, count(*) as times, sum(k.price_nanos) as spent_nanos
      from clicks k left join recommendations r on r.id = k.recommendation_id left join offers o on o.id = k.offer_id
      where k.advertiser_id = ${advertiserId} and k.state = 'reversed'
        and k.id >= first_id_of(${from}::date::timestamp at time zone 'utc')
        and k.written_at <= (select through from advertiser_days_progress)
        and (${campaignId}::uuid is null or k.campaign_id = ${campaignId}::uuid)
      group by 1
    ), changes as (
      select key, 'valid' as event, -times as times, -spent_nanos as spent_nanos from taken_back
      union all select key, 'reversed', times, 0 from taken_back
    ), details as materialized (
      select key, event, sum(times) as times, sum(spent_nanos) as spent_nanos from (
        select w.key, d.event, d.times, d.spent_nanos from shown w cross join lateral (
          select * from advertiser_days d where ${within} and d.dimension = ${dimension} and ${ofDays} = w.key offset 0) d
        union all select c.key, c.event, c.times, c.spent_nanos from changes c join shown using (key)) x
      group by 1, 2
    ), whole as (
      select d.event, d.times, d.spent_nanos from advertiser_days d where ${within} and d.dimension = 'campaign'
      union all select event, times, spent_nanos from changes
      union all select event, -times, -spent_nanos from details
    )
    select key, event, times::int8 as times, spent_nanos::int8 as "spentNanos" from details where times > 0
    union all
    select null, event, sum(times)::int8, sum(spent_nanos)::int8 from whole group by 2 having sum(times) > 0`.execute(
    db,
  )
  return rows
}

/** Until when everything is in it; null: nothing yet. */
export async function readAdvertiserDaysThrough(db: Db): Promise<Date | null> {
  const { through } = await db.selectFrom('advertiser_days_progress').select('through').executeTakeFirstOrThrow()
  return through
}

/** What people call them, where they are still there. */
export async function namesOf(db: Db, by: 'campaign' | 'offer', ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows =
    by === 'campaign'
      ? await db.selectFrom('campaigns').select(['id', 'name']).where('id', 'in', ids).execute()
      : await db.selectFrom('offers').select(['id', 'headline as name']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Returns how many rows were forgotten. By advertiser, because that is how the rows are found. */
export async function expireAdvertiserDays(db: Db, keptMs: number, most: number): Promise<number> {
  const key = sql`advertiser_id, dimension, value, day, campaign_id, event`
  const { numAffectedRows } = await sql`
    delete from advertiser_days where (${key}) in (
      select x.* from advertisers a cross join (values ('campaign'), ('offer'), ('hint'), ('category')) as v (dimension)
        cross join lateral (
          select ${key} from advertiser_days d where d.advertiser_id = a.id and d.dimension = v.dimension
            and d.day < (now() at time zone 'utc' - ${keptMs} * interval '1 ms')::date limit ${most}) x
      limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
