-- What becomes of a click that is valid by itself. The rows that it depends on are locked.
create or replace function clicks_decide(c asked_click) returns text language plpgsql as $$
begin
  return case
    -- Who follows so many recommendations of one project in ten minutes is no reader, though each click looks like a reader's.
    when (select count(*) from (select distinct k.recommendation_id from clicks k where k.project_id = c.project_id and k.network_tag = c.network_tag
        and k.verdict in ('valid', 'too_many', 'repeat', 'over_budget', 'no_credit')
        and k.id >= first_id_of(time_of_id(c.id) - interval '10 minutes') and k.id < c.id
        and k.recommendation_id <> c.recommendation_id limit 5) before) >= 5 then 'too_many'
    when exists (select from clicks k where k.recommendation_id = c.recommendation_id and k.price_nanos > 0) then 'repeat'
    when exists (select from campaigns m join campaign_days d on d.campaign_id = m.id and d.day = c.day
        join campaign_totals t on t.campaign_id = m.id where m.id = c.campaign_id
          and (d.spent_nanos + c.price_nanos > m.daily_budget_nanos or t.spent_nanos + c.price_nanos > m.total_budget_nanos))
      then 'over_budget'
    when not exists (select from advertiser_wallets w
        where w.advertiser_id = c.advertiser_id and w.balance_nanos >= c.price_nanos) then 'no_credit'
    else 'valid' end;
end $$;

revoke execute on function clicks_decide from public;
