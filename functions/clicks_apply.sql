-- Writes down a batch of clicks and pays for those that are valid: one transaction for the click, the budgets of its campaign,
-- and both sides of the money. Each gets its last verdict here: only under these locks is it known whether a recommendation was
-- paid for before and what is left of a budget. Sending a batch again changes nothing and returns the same verdicts.
--
-- All rows that batches share are locked first, by kind and then in the order of their ids: two batches never wait for each
-- other in a circle. Runs with its owner's rights, because a gateway itself may move no money.
create or replace function clicks_apply(asked json) returns table (click_id uuid, decided text) language plpgsql
security definer set search_path = public, pg_temp as $$
declare batch asked_click[]; payable asked_click[]; c asked_click; written uuid[] := '{}';
begin
  select array_agg((n.id, n.fee_id, n.verdict, decode(n.network_tag, 'hex'), (time_of_id(n.id) at time zone 'utc')::date,
      r.id, r.project_id, r.advertiser_id, r.campaign_id, r.offer_id, r.price_nanos)::asked_click order by n.id)
    into batch
    from json_to_recordset(asked) as n (id uuid, recommendation_id uuid, fee_id uuid, verdict text, network_tag text)
      join recommendations r on r.id = n.recommendation_id;
  select array_agg(a) into payable from unnest(batch) a where a.verdict = 'valid';

  perform earnings_account(p.project_id) from (select distinct a.project_id from unnest(payable) a order by 1) p;
  insert into campaign_days (campaign_id, day)
    select distinct a.campaign_id, a.day from unnest(payable) a order by 1, 2 on conflict do nothing;
  insert into campaign_totals (campaign_id)
    select distinct a.campaign_id from unnest(payable) a order by 1 on conflict do nothing;
  perform from campaign_days d where (d.campaign_id, d.day) in (select a.campaign_id, a.day from unnest(payable) a)
    order by d.campaign_id, d.day for no key update;
  perform from campaign_totals t where t.campaign_id in (select a.campaign_id from unnest(payable) a)
    order by t.campaign_id for no key update;
  perform from advertiser_wallets w where w.advertiser_id in (select a.advertiser_id from unnest(payable) a)
    order by w.advertiser_id for no key update;
  perform from earnings e where e.project_id in (select a.project_id from unnest(payable) a)
    order by e.project_id for no key update;

  foreach c in array coalesce(batch, '{}') loop
    click_id := c.id;
    select k.verdict into decided from clicks k where k.id = c.id;
    if not found then
      decided := case when c.verdict = 'valid' then clicks_decide(c) else c.verdict end;
      perform clicks_write(c, decided);
      written := written || c.id;
    end if;
    return next;
  end loop;
  perform clicks_count(written, 1);
end $$;

revoke execute on function clicks_apply from public;
grant execute on function clicks_apply to parley_gateway;
