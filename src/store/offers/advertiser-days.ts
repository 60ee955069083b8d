import { sql, type RawBuilder } from 'kysely'
import type { ReportKey, ReportSum } from '../../rules/recommendations/advertiser-report.ts'
import type { Db } from '../database.ts'
import { addUpInMemory } from '../planner.ts'

/**
 * The figures that advertisers see, by day: recommendations that were delivered, and clicks by verdict. A row counts what was
 * written down between two moments that no open transaction can still write into, so everything is counted once.
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
    const { through, changes_through: changesThrough } = await tx
      .selectFrom('advertiser_days_progress')
      .select(['through', 'changes_through'])
      .executeTakeFirstOrThrow()
    const from = through ?? (await findBeginning(tx)) ?? boundary
    const to = new Date(Math.min(from.getTime() + stepMs, boundary.getTime()))
    if (to < from) return from
    if (to > from) await addWritten(tx, { from, to, changesFrom: changesThrough ?? new Date(0) })
    await tx.updateTable('advertiser_days_progress').set({ through: to, changes_through: to }).execute()
    return to
  })
}

/** Nothing was written before the first call with a recommendation began. */
async function findBeginning(tx: Db): Promise<Date | undefined> {
  const { rows } = await sql<{ began_at: Date }>`
    select time_of_id(id) - interval '1 hour' as began_at from recommendations order by id limit 1`.execute(tx)
  return rows[0]?.began_at
}

interface Written {
  from: Date
  to: Date
  /** The beginning for clicks that were taken back and for conversions, which are counted with the click that they are about. */
  changesFrom: Date
}

async function addWritten(tx: Db, { from, to, changesFrom }: Written): Promise<void> {
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
      -- A publisher's test clicks mean nothing to an advertiser.
      where k.written_at > ${from} and k.written_at <= ${to} and k.verdict <> 'test'
      union all
      select k.advertiser_id, k.campaign_id, k.offer_id, r.hint, time_of_id(k.id), 'reversed', k.price_nanos
      from clicks k left join recommendations r on r.id = k.recommendation_id
      where k.reversed_at > ${changesFrom} and k.reversed_at <= ${to}
      union all
      select v.advertiser_id, v.campaign_id, v.offer_id, r.hint, time_of_id(v.click_id), 'conversion', 0
      from conversions v left join clicks k on k.id = v.click_id left join recommendations r on r.id = k.recommendation_id
      where v.created_at > ${changesFrom} and v.created_at <= ${to} and v.verdict = 'counted'
    ), sums as materialized (
      select advertiser_id, campaign_id, offer_id, coalesce(hint, '') as hint, (at at time zone 'utc')::date as day, event,
        count(*) as times, sum(price_nanos) as spent_nanos
      from facts group by 1, 2, 3, 4, 5, 6
    ), offers_by_month as (
      select advertiser_id, date_trunc('month', day)::date as month, offer_id, campaign_id,
        array_agg(extract(day from day)::int) as days, array_agg(times) as counts
      from sums where event = 'serve' group by 1, 2, 3, 4
    ), months as (
      insert into advertiser_offer_months as m (advertiser_id, month, offer_id, campaign_id, served_until)
      select advertiser_id, month, offer_id, campaign_id, array(
        select coalesce(sum(t.times), 0)::int
        from generate_series(1, 31) n left join unnest(days, counts) t (day, times) on t.day <= n group by n order by n)
      from offers_by_month order by 1, 2, 3, 4
      on conflict (advertiser_id, month, offer_id, campaign_id) do update
        set served_until = array(select a + b from unnest(m.served_until, excluded.served_until) x (a, b))
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

export interface ReportAsked {
  advertiserId: string
  campaignId?: string | undefined
  by: ReportKey
  /** The first and the last day, as 2026-11-18 (UTC). */
  from: string
  to: string
  /** Rows with fewer are in the row of the others. */
  servesMin: number
  /** And so are those beyond so many. */
  most: number
}

/** The column that a key is. Values are many, and found by the key of the table; campaigns and days are few. */
const KEYS: Record<ReportKey, { dimension: string; key: RawBuilder<unknown>; isValue: boolean }> = {
  campaign: { dimension: 'campaign', key: sql`d.campaign_id::text`, isValue: false },
  offer: { dimension: 'offer', key: sql`d.value`, isValue: true },
  hint: { dimension: 'hint', key: sql`d.value`, isValue: true },
  category: { dimension: 'category', key: sql`d.value`, isValue: true },
  day: { dimension: 'campaign', key: sql`d.day::text`, isValue: false },
}

/**
 * Rows of those that were served most, and one of all others: what the whole came to, less what is shown, so that nobody adds up
 * every offer.
 */
export async function sumAdvertiserDays(db: Db, asked: ReportAsked): Promise<ReportSum[]> {
  const { advertiserId, campaignId = null, by, from, to, servesMin, most } = asked
  const { dimension, key, isValue } = KEYS[by]
  const within = sql`d.advertiser_id = ${advertiserId} and d.day between ${from}::date and ${to}::date
    and (${campaignId}::uuid is null or d.campaign_id = ${campaignId}::uuid)`
  await addUpInMemory(db)
  const { rows } = await sql<ReportSum>`
    with served as (
      ${
        by === 'offer'
          ? offersServed(asked)
          : sql`select ${key} as key, sum(d.times) as times from advertiser_days d
              where ${within} and d.dimension = ${dimension} and d.event = 'serve' group by 1`
      }
    ), shown as materialized (
      select key::text, times from (
        select key, times from served where times >= ${servesMin} order by times desc, key limit ${most}) most_served
    ), details as materialized (
      select key, 'serve' as event, times, 0 as spent_nanos from shown
      union all
      select w.key, x.event, x.times, x.spent_nanos
      from shown w join lateral (
        select ${key} as key, d.event, sum(d.times) as times, sum(d.spent_nanos) as spent_nanos from advertiser_days d
        where ${within} and d.dimension = ${dimension} and d.event <> 'serve' ${isValue ? sql`and d.value = w.key` : sql``}
        group by 1, 2 offset 0) x using (key)
    ), whole as (
      select d.event, d.times, d.spent_nanos from advertiser_days d where ${within} and d.dimension = 'campaign'
      union all select event, -times, -spent_nanos from details
    )
    select key, event, times::int8 as times, spent_nanos::int8 as "spentNanos" from details
    union all
    select null, event, sum(times)::int8, sum(spent_nanos)::int8 from whole group by 2 having sum(times) > 0`.execute(
    db,
  )
  return rows
}

/** Adds up, for each month, what was served until the end of its last day within the span, less what was before the first. */
function offersServed({ advertiserId, campaignId, from, to }: ReportAsked): RawBuilder<unknown> {
  return sql`
    select m.offer_id as key, sum(
      m.served_until[least(31, ${to}::date - m.month + 1)] - coalesce(m.served_until[${from}::date - m.month], 0)) as times
    from advertiser_offer_months m
    where m.advertiser_id = ${advertiserId} and m.month between ${`${from.slice(0, 7)}-01`}::date and ${to}::date
      and (${campaignId ?? null}::uuid is null or m.campaign_id = ${campaignId ?? null}::uuid)
    group by m.offer_id`
}

/** Until when everything is in it; null: nothing yet. */
export async function readAdvertiserDaysThrough(db: Db): Promise<Date | null> {
  const { through } = await db.selectFrom('advertiser_days_progress').select('through').executeTakeFirstOrThrow()
  return through
}

/** Returns the names of campaigns or offers, by id, where they still exist. */
export async function namesOf(db: Db, by: 'campaign' | 'offer', ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows =
    by === 'campaign'
      ? await db.selectFrom('campaigns').select(['id', 'name']).where('id', 'in', ids).execute()
      : await db
          .selectFrom('offers')
          .select(['id', 'headline as name'])
          .where(sql<boolean>`id = any (${ids})`)
          .execute()
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

/** The same of the sums of offers by month: those of which no day is told any more. */
export async function expireOfferMonths(db: Db, keptMs: number, most: number): Promise<number> {
  const key = sql`advertiser_id, month, offer_id, campaign_id`
  const { numAffectedRows } = await sql`
    delete from advertiser_offer_months where (${key}) in (
      select x.* from advertisers a cross join lateral (
        select ${key} from advertiser_offer_months m where m.advertiser_id = a.id
          and m.month + interval '1 month' <= (now() at time zone 'utc' - ${keptMs} * interval '1 ms')::date limit ${most}) x
      limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
