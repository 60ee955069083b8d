/**
 * Recommendations of very many calls, a click on every ninth, and the sums that triggers and workers would have made of them: for
 * `npm run bench:console`. Its advertisers are as many as a busy installation has, and the first has half of everything.
 */
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { openStore, type Db } from '../../src/store/database.ts'

const ADVERTISERS = 200
const CAMPAIGNS = 5
const OFFERS_OF_CAMPAIGN = 20
const RUNS_OF_FEED = 200
const HINTS = ['for people distracted by noise at home', 'for those who start to run', 'for small kitchens']
const CATEGORIES = ['Electronics > Audio', 'Home & Garden > Kitchen', 'Sporting Goods', 'Apparel & Accessories > Shoes']
const PRICE_NANOS = 300_000_000
const SHARE_NANOS = 210_000_000

export async function seedRecommendations(url: string, most: number): Promise<void> {
  const store = openStore({ url, applicationName: 'parley seed', statementTimeoutMs: 1_800_000, poolMax: 1 })
  try {
    await store.db.connection().execute(async (db) => {
      // A large shop offers more than anybody was shown yet.
      const offersOfLargest = Math.max(OFFERS_OF_CAMPAIGN, Math.round(most / 1_000))
      await makeAdvertisers(db, offersOfLargest)
      // The sums are made at the end instead, by one statement each.
      for (const setting of [
        'session_replication_role = replica',
        'synchronous_commit = off',
        "work_mem = '512MB'",
        'jit = off',
      ])
        await sql.raw(`set ${setting}`).execute(db)
      await makePartitions(db)
      await show(db, most, CAMPAIGNS * offersOfLargest)
      await click(db)
      await sql`reset all`.execute(db)
      await sql`analyze recommendations, clicks, offers`.execute(db)
      await addUp(db)
      await sql`vacuum analyze`.execute(db)
    })
  } finally {
    await store.close()
  }
}

/** The largest has so many offers in each of its campaigns. */
async function makeAdvertisers(db: Db, offersOfLargest: number): Promise<void> {
  const ids = Array.from({ length: ADVERTISERS }, () => uuidv7())
  await sql`
    insert into advertisers (id, name, legal_name, domain, status, domain_verified_at, domain_proven_by)
    select id, 'Shop ' || n, 'Shop ' || n || ' Ltd', 'shop-' || n || '.example', 'active', now(), 'operator'
    from unnest(${ids}::uuid[]) with ordinality as a (id, n)`.execute(db)
  await sql`
    insert into campaigns (id, advertiser_id, name, bid_nanos, daily_budget_nanos, context_hints)
    select gen_random_uuid(), a.id, 'Campaign ' || n, 400000000, 50000000000, ${HINTS}::text[]
    from advertisers a, generate_series(1, ${CAMPAIGNS}) as n`.execute(db)
  await sql`
    insert into feeds (id, advertiser_id, campaign_id, name, expires_at)
    select gen_random_uuid(), advertiser_id, id, 'Feed of ' || name, now() + interval '30 days' from campaigns`.execute(
    db,
  )
  await sql`
    insert into feed_runs (id, feed_id, format, state, rows_read, unchanged, started_at, finished_at)
    select gen_random_uuid(), id, 'csv', 'published', 20, 20, now() - n * interval '1 hour', now() - n * interval '1 hour'
    from feeds, generate_series(1, ${RUNS_OF_FEED}) as n`.execute(db)
  await sql`
    insert into offers (id, advertiser_id, campaign_id, feed_id, item_id, title, headline, benefit, link, price, currency, category,
      review, content_hash, text_hash)
    select gen_random_uuid(), f.advertiser_id, f.campaign_id, f.id, f.name || ' item-' || n, 'Product ' || n, 'Product ' || n, 'It fits.',
      'https://' || a.domain || '/' || n, '19.90', 'USD', (${CATEGORIES}::text[])[1 + n % ${CATEGORIES.length}],
      (array['approved', 'pending', 'rejected'])[1 + (n % 10) / 8], decode(md5(f.id || '-' || n) || md5('c' || n), 'hex'),
      decode(md5(f.id || '-' || n) || md5('t' || n), 'hex')
    from feeds f join advertisers a on a.id = f.advertiser_id,
      generate_series(1, case a.name when 'Shop 1' then ${offersOfLargest}::int else ${OFFERS_OF_CAMPAIGN} end) as n`.execute(
    db,
  )
  await sql`insert into accounts (id, kind) select id, 'advertiser' from advertisers on conflict do nothing`.execute(db)
  await sql`insert into advertiser_wallets (advertiser_id, balance_nanos) select id, 900000000000 from advertisers
    on conflict do nothing`.execute(db)
}

async function makePartitions(db: Db): Promise<void> {
  const { rows } = await sql<{ statement: string }>`
    select format('create table if not exists %1$I partition of recommendations for values from (%2$L) to (%3$L);
      grant select on %1$I to parley_worker', 'recommendations_' || to_char(day, 'YYYYMMDD'),
      first_id_of(day at time zone 'utc'), first_id_of((day + interval '1 day') at time zone 'utc')) as statement
    from generate_series(0, 62) as back,
      lateral (select date_trunc('day', now() at time zone 'utc') - back * interval '1 day' as day) as d`.execute(db)
  for (const { statement } of rows) await sql.raw(statement).execute(db)
}

/** One for each call that says so, until there are so many. Every other one is of the first advertiser. */
async function show(db: Db, most: number, offersOfLargest: number): Promise<void> {
  await sql`
    create temp table seed_offers as
    select row_number() over (order by a.name <> 'Shop 1', o.id) - 1 as n, o.id, o.advertiser_id, o.campaign_id, o.headline
    from offers o join advertisers a on a.id = o.advertiser_id`.execute(db)
  await sql`create index on seed_offers (n)`.execute(db)
  await sql`
    insert into recommendations (id, project_id, call_id, advertiser_id, campaign_id, offer_id, turn, price_nanos, relevance, label,
      state, created_at, link, headline, hint)
    select overlay(c.id::text placing '7a' from 15 for 2)::uuid, c.project_id, c.id, o.advertiser_id, o.campaign_id, o.id, 1,
      ${PRICE_NANOS}, 0.8, 'Ad', case h % 50 when 0 then 'aborted' when 1 then 'test' else 'delivered' end, c.created_at,
      'https://shop.example/item', o.headline, case when h % 4 > 0 then (${HINTS}::text[])[h % 4] end
    from (select id, project_id, created_at, abs(hashtext(id::text)) as h from calls where recommendation_outcome = 'served' limit ${most}) c
      join seed_offers o on o.n = case when h / 200 % 2 = 0 then h / 400 % ${offersOfLargest}::int
        else h / 400 % ${offersOfLargest + (ADVERTISERS - 1) * CAMPAIGNS * OFFERS_OF_CAMPAIGN}::int end`.execute(db)
}

/** A minute after it was shown. What was paid more than seven days ago is released, but for the few that were taken back. */
async function click(db: Db): Promise<void> {
  await sql`
    insert into clicks (id, recommendation_id, project_id, advertiser_id, campaign_id, offer_id, verdict, price_nanos, share_nanos,
      state, written_at)
    select (lpad(to_hex((extract(epoch from at) * 1000)::int8), 12, '0') || '7' || substr(md5(recommendation_id::text), 1, 3) || '8'
        || substr(md5(recommendation_id::text), 4, 15))::uuid, recommendation_id, project_id, advertiser_id, campaign_id, offer_id, verdict,
      case when is_paid then ${PRICE_NANOS} else 0 end, case when is_paid then ${SHARE_NANOS} else 0 end,
      case when not is_paid then 'unpaid' when h / 1000 % 97 = 0 then 'reversed'
        when at < now() - interval '7 days' then 'released' else 'pending' end, at
    from (
      select r.id as recommendation_id, r.project_id, r.advertiser_id, r.campaign_id, r.offer_id, least(r.created_at + interval '1 minute', now()) as at, h, h / 9 % 10 < 6 as is_paid,
        case when h / 9 % 10 < 6 then 'valid' else (array['bot', 'prefetch', 'too_fast', 'data_centre'])[h / 9 % 10 - 5] end as verdict
      from recommendations r, lateral (select abs(hashtext(r.id::text))) as x (h)
      where r.state = 'delivered' and h % 9 = 0) k`.execute(db)
}

/** As the triggers of clicks and recommendations, the ledger, and the worker's roll-up would have it. */
async function addUp(db: Db): Promise<void> {
  await sql`
    insert into click_days (project_id, day, verdict, clicks, share_nanos, taken_back, taken_back_nanos)
    select project_id, (time_of_id(id) at time zone 'utc')::date, verdict, count(*),
      coalesce(sum(share_nanos) filter (where state <> 'reversed'), 0), count(*) filter (where state = 'reversed'),
      coalesce(sum(share_nanos) filter (where state = 'reversed'), 0)
    from clicks group by 1, 2, 3`.execute(db)
  await sql`
    insert into recommendation_days (project_id, day, advertiser_id, category, shown, clicks, earned_nanos)
    select r.project_id, r.created_at::date, r.advertiser_id, split_part(o.category, ' > ', 1), count(*), count(k.id),
      coalesce(sum(k.share_nanos), 0)
    from recommendations r join offers o on o.id = r.offer_id
      left join clicks k on k.recommendation_id = r.id and k.state in ('pending', 'released')
    where r.state = 'delivered' group by 1, 2, 3, 4`.execute(db)
  await sql`insert into accounts (id, kind) select gen_random_uuid(), 'earnings' from (select distinct project_id from clicks) p`.execute(
    db,
  )
  await sql`
    insert into earnings (project_id, account_id, pending_nanos, released_nanos, taken_back_nanos)
    select project_id, a.id, pending, released, taken_back
    from (
      select row_number() over () as n, project_id, coalesce(sum(share_nanos) filter (where state = 'pending'), 0) as pending,
        coalesce(sum(share_nanos) filter (where state = 'released'), 0) as released,
        coalesce(sum(share_nanos) filter (where state = 'reversed'), 0) as taken_back
      from clicks group by project_id) s
      join (select row_number() over () as n, id from accounts where kind = 'earnings') a using (n)`.execute(db)
  await sql`
    insert into campaign_days (campaign_id, day, spent_nanos, clicks)
    select campaign_id, (time_of_id(id) at time zone 'utc')::date, sum(price_nanos), count(*) from clicks
    where state in ('pending', 'released') group by 1, 2`.execute(db)
  await sql`insert into campaign_totals (campaign_id, spent_nanos)
    select campaign_id, sum(spent_nanos) from campaign_days group by 1`.execute(db)
  await sql`
    with facts as (
      select advertiser_id, campaign_id, offer_id, hint, created_at as at, 'serve' as event, 0 as price_nanos
      from recommendations where state = 'delivered'
      union all
      select k.advertiser_id, k.campaign_id, k.offer_id, r.hint, time_of_id(k.id), k.verdict, k.price_nanos
      from clicks k join recommendations r on r.id = k.recommendation_id
    ), sums as materialized (
      select advertiser_id, campaign_id, offer_id, coalesce(hint, '') as hint, (at at time zone 'utc')::date as day, event,
        count(*) as times, sum(price_nanos) as spent_nanos
      from facts group by 1, 2, 3, 4, 5, 6
    )
    insert into advertiser_days (advertiser_id, dimension, day, campaign_id, value, event, times, spent_nanos)
    select s.advertiser_id, v.dimension, s.day, s.campaign_id, v.value, s.event, sum(s.times), sum(s.spent_nanos)
    from sums s join offers o on o.id = s.offer_id cross join lateral (values ('campaign', ''), ('hint', s.hint),
      ('offer', s.offer_id::text), ('category', o.category)) as v (dimension, value)
    group by 1, 2, 3, 4, 5, 6`.execute(db)
  await sql`
    insert into advertiser_offer_months (advertiser_id, month, offer_id, campaign_id, served_until)
    select advertiser_id, date_trunc('month', day)::date, value::uuid, campaign_id,
      array(select coalesce(sum(t.times), 0)::int from generate_series(1, 31) n
        left join unnest(array_agg(extract(day from day)::int), array_agg(times)) t (day, times) on t.day <= n group by n order by n)
    from advertiser_days where dimension = 'offer' and event = 'serve' group by 1, 2, 3, 4`.execute(db)
  await sql`update advertiser_days_progress set through = now(), changes_through = now()`.execute(db)
}
