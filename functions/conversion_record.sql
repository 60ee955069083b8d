-- Writes down what an advertiser tells of a click, once for each of its events: told again, whatever it says then, it is what it
-- was. No row: nobody has that key. Whose click another advertiser's is, it does not learn. Of what names no click of its own nothing
-- is kept, and of one click no more events than anybody has: who has a key fills no disk. Runs with its owner's rights, because a
-- gateway itself sees no advertiser's conversions.
create or replace function conversion_record(key_digest bytea, new_id uuid, event text, click uuid, worth numeric, money text,
  happened timestamptz) returns table (conversion_id uuid, decided text) language plpgsql
security definer set search_path = public, pg_temp as $$
declare advertiser uuid; k clicks; click_max constant int := 20;
begin
  select a.id into advertiser from advertisers a where a.conversion_key_digest = key_digest;
  if not found then return; end if;
  return query select v.id, v.verdict from conversions v where v.advertiser_id = advertiser and v.event_id = event;
  if found then return; end if;
  select * into k from clicks c where c.id = click and c.advertiser_id = advertiser;
  if not found then
    return query select new_id, 'unknown_click';
    return;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('conversions ' || click, 0));
  if (select count(*) from conversions v where v.click_id = click and v.advertiser_id = advertiser and v.event_id <> event) >= click_max then
    return query select new_id, 'too_many';
    return;
  end if;
  insert into conversions (id, advertiser_id, event_id, click_id, campaign_id, offer_id, verdict, amount, currency, happened_at)
    values (new_id, advertiser, event, click, k.campaign_id, k.offer_id, case
      -- A reader's click counts also when nobody paid for it.
      when k.verdict not in ('valid', 'project_closed', 'repeat', 'over_budget', 'no_credit') then 'no_reader'
      -- Clocks of advertisers are a little off.
      when happened < time_of_id(k.id) - interval '5 minutes' then 'before_click'
      when happened > time_of_id(k.id) + interval '7 days' then 'too_late'
      else 'counted' end, worth, money, happened)
    on conflict (advertiser_id, event_id) do nothing;
  return query select v.id, v.verdict from conversions v where v.advertiser_id = advertiser and v.event_id = event;
end $$;

revoke execute on function conversion_record from public;
grant execute on function conversion_record to parley_gateway;
