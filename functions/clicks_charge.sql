-- Moves what clicks cost that were just written down: for each its two movements, and for everything that they share one update
-- of the sum. Rows that are updated once for each click would have as many versions, and while somebody reads the database in one
-- long transaction, such as a dump, every version stays and is gone through by whoever looks for the last one. Whoever calls it
-- has locked these rows. `fees` are the ids of the movements of the operator's parts, in the order of `paid`.
create or replace function clicks_charge(paid clicks[], fees uuid[]) returns void language plpgsql as $$
begin
  insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference)
    select m.id, k.advertiser_id, m.account, m.amount, 'click', m.reference
    from unnest(paid) with ordinality k join earnings e on e.project_id = k.project_id,
      lateral (values (k.id, e.account_id, k.share_nanos, 'click:' || k.id),
        (fees[k.ordinality], '00000000-0000-0000-0000-000000000004', k.price_nanos - k.share_nanos, 'click-fee:' || k.id))
        as m (id, account, amount, reference)
    where m.amount > 0;
  update campaign_days d set spent_nanos = d.spent_nanos + s.price, clicks = d.clicks + s.clicks
    from (select k.campaign_id, (time_of_id(k.id) at time zone 'utc')::date as day, sum(k.price_nanos) as price, count(*) as clicks
      from unnest(paid) k group by 1, 2) s
    where d.campaign_id = s.campaign_id and d.day = s.day;
  update campaign_totals t set spent_nanos = t.spent_nanos + s.price
    from (select k.campaign_id, sum(k.price_nanos) as price from unnest(paid) k group by 1) s
    where t.campaign_id = s.campaign_id;
  update advertiser_wallets w set balance_nanos = w.balance_nanos - s.price
    from (select k.advertiser_id, sum(k.price_nanos) as price from unnest(paid) k group by 1) s
    where w.advertiser_id = s.advertiser_id;
  update earnings e set pending_nanos = e.pending_nanos + s.share
    from (select k.project_id, sum(k.share_nanos) as share from unnest(paid) k group by 1) s
    where e.project_id = s.project_id;
end $$;

revoke execute on function clicks_charge from public;
