-- Takes a paid click back, once: the advertiser gets its price again, the budgets get their room, and publisher and operator
-- give back what they had of it. What was released to a wallet already is taken from there, and what the wallet has spent of it,
-- it owes. Rows that clicks_apply locks are locked in its order.
create or replace function click_reverse(click uuid, why text) returns boolean language plpgsql as $$
declare k clicks; called uuid;
begin
  select * into k from clicks c where c.id = click for no key update;
  if not found or k.state = 'unpaid' then
    raise exception 'no paid click %', click using errcode = 'no_data_found';
  end if;
  if k.state = 'reversed' then return false; end if;
  update campaign_days d set spent_nanos = d.spent_nanos - k.price_nanos, clicks = d.clicks - 1
    where d.campaign_id = k.campaign_id and d.day = (time_of_id(click) at time zone 'utc')::date;
  update campaign_totals t set spent_nanos = t.spent_nanos - k.price_nanos where t.campaign_id = k.campaign_id;
  perform from advertiser_wallets w where w.advertiser_id = k.advertiser_id for no key update;
  if k.state = 'released' then
    perform ledger_cover(k.project_id, k.share_nanos, 'click-reversal:' || click);
  end if;
  if k.share_nanos > 0 then
    perform ledger_transfer(gen_random_uuid(),
      case k.state when 'pending' then earnings_account(k.project_id) else k.project_id end, k.advertiser_id, k.share_nanos,
      'reversal', 'click-reversal:' || click, why, click);
  end if;
  if k.share_nanos < k.price_nanos then
    perform ledger_transfer(gen_random_uuid(), '00000000-0000-0000-0000-000000000004', k.advertiser_id,
      k.price_nanos - k.share_nanos, 'reversal', 'click-fee-reversal:' || click, why, null);
  end if;
  update earnings e set taken_back_nanos = e.taken_back_nanos + k.share_nanos,
      released_nanos = e.released_nanos - case k.state when 'released' then k.share_nanos else 0 end
    where e.project_id = k.project_id;
  update clicks c set state = 'reversed', reversed_at = now() where c.id = click;
  select r.call_id into called from recommendations r where r.id = k.recommendation_id;
  perform clicks_sum(array[k], array[called], -1);
  return true;
end $$;

revoke execute on function click_reverse from public;
