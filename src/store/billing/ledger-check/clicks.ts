import { sql, type RawBuilder } from 'kysely'
import type { Finding } from '../../../rules/billing/invariants.ts'
import type { Db } from '../../database.ts'
import { findBroken } from './charges.ts'

/** Longer than earnings are pending: what is older was compared while it was young. */
const COMPARED = sql`interval '8 days'`

export interface CheckedClicks {
  findings: Finding[]
  /** How many there are of each. */
  checked: { advertisers: number; earnings: number; campaigns: number }
}

/** Advertisers' wallets, what publishers have earned, and what campaigns have spent, against the entries and the clicks. */
export async function checkClicks(tx: Db, entries: RawBuilder<unknown>): Promise<CheckedClicks> {
  const advertisers = await findBroken(
    tx,
    'I10',
    sql`select coalesce(w.advertiser_id, e.account_id)::text as id,
        'balance of ' || coalesce(w.balance_nanos::text, 'no wallet') || ', entries sum to ' || coalesce(e.nanos, 0) as detail
      from advertiser_wallets w full join (
        select e.account_id, e.nanos from ${entries} e join accounts a on a.id = e.account_id and a.kind = 'advertiser') e
        on e.account_id = w.advertiser_id
      where w.balance_nanos is distinct from coalesce(e.nanos, 0)`,
  )
  const earnings = await findBroken(
    tx,
    'I11',
    sql`select r.project_id::text as id, 'pending ' || r.pending_nanos || ', entries sum to ' || coalesce(e.nanos, 0)
        || ', pending clicks to ' || coalesce(k.nanos, 0) as detail
      from earnings r left join ${entries} e on e.account_id = r.account_id
        left join (select c.project_id, sum(c.share_nanos) as nanos from clicks c where c.state = 'pending' group by 1) k
          on k.project_id = r.project_id
      where r.pending_nanos <> coalesce(e.nanos, 0) or r.pending_nanos <> coalesce(k.nanos, 0)`,
  )
  const campaigns = await findBroken(
    tx,
    'I12',
    sql`select coalesce(d.campaign_id, k.campaign_id)::text as id, coalesce(d.day, k.day) || ': spent '
        || coalesce(d.spent_nanos, 0) || ', paid clicks cost ' || coalesce(k.nanos, 0) as detail
      from (select * from campaign_days d where d.day > (now() - ${COMPARED})::date) d full join (
        select c.campaign_id, (time_of_id(c.id) at time zone 'utc')::date as day, sum(c.price_nanos) as nanos from clicks c
        where c.id >= first_id_of(((now() - ${COMPARED})::date + 1)::timestamp at time zone 'utc')
          and c.state in ('pending', 'released') group by 1, 2) k using (campaign_id, day)
      where coalesce(d.spent_nanos, 0) <> coalesce(k.nanos, 0)
      union all
      select t.campaign_id::text, 'spent ' || t.spent_nanos || ' ever, its days sum to ' || coalesce(d.nanos, 0)
      from campaign_totals t left join (select campaign_id, sum(spent_nanos) as nanos from campaign_days group by 1) d
        using (campaign_id) where t.spent_nanos <> coalesce(d.nanos, 0)`,
  )
  const { rows } = await sql<CheckedClicks['checked']>`
    select (select count(*)::int from advertiser_wallets) as advertisers, (select count(*)::int from earnings) as earnings,
      (select count(*)::int from campaign_totals) as campaigns`.execute(tx)
  const [checked = { advertisers: 0, earnings: 0, campaigns: 0 }] = rows
  return { findings: [...advertisers, ...earnings, ...campaigns], checked }
}
