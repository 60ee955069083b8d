-- Writes down a batch of clicks and pays for those that are valid: one transaction for the click, the budgets of its campaign,
-- and both sides of the money. Each gets its last verdict here: only under these locks is it known whether a recommendation was
-- paid for before and what is left of a budget. Sending a batch again changes nothing and returns the same verdicts.
--
-- All rows that batches share are locked first, by kind and then in the order of their ids: two batches never wait for each
-- other in a circle. Each is read once, here, and updated once, by clicks_charge: in between, what is spent and left is counted in
-- variables. Runs with its owner's rights, because a gateway itself may move no money.
--
-- All tables are large, and a batch asks for few of their rows: by their ids, whatever the planner knows of the tables by now.
create or replace function clicks_apply(asked json) returns table (click_id uuid, decided text) language plpgsql
security definer set search_path = public, pg_temp set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare batch asked_click[]; payable asked_click[]; c asked_click; day_key text; share int8; click clicks;
  written clicks[] := '{}'; calls uuid[] := '{}'; paid clicks[] := '{}'; fees uuid[] := '{}';
  shown uuid[]; -- the recommendations, in order: only the partitions of these days are opened
  -- By campaign and day, by campaign, by advertiser, and by project.
  day_spent jsonb; total_spent jsonb; credit_left jsonb; shares jsonb;
  -- By click: its call and the budgets when it was shown, and the budgets that hold for it. Null: there is no such budget.
  facts jsonb; budgets jsonb;
  -- The recommendations that each click's network has followed: `before` this batch, by the id of the click, and in it.
  before jsonb; followed asked_click[] := '{}';
  -- The publishers of the projects, and the projects that are open: recommendations of the others cost nothing.
  publishers jsonb; open uuid[];
begin
  select array_agg(n.recommendation_id order by n.recommendation_id) into shown
    from json_to_recordset(asked) as n (recommendation_id uuid);
  select array_agg((n.id, n.fee_id, n.verdict, decode(n.network_tag, 'hex'), (time_of_id(n.id) at time zone 'utc')::date,
      r.id, r.project_id, r.advertiser_id, r.campaign_id, r.offer_id, r.price_nanos)::asked_click order by n.id),
      jsonb_object_agg(n.id, jsonb_build_object('call', r.call_id, 'day', r.daily_budget_nanos, 'total', r.total_budget_nanos))
    into batch, facts
    from json_to_recordset(asked) as n (id uuid, recommendation_id uuid, fee_id uuid, verdict text, network_tag text)
      join recommendations r on r.id = n.recommendation_id and r.id between shown[1] and shown[cardinality(shown)];
  select array_agg(a) into payable from unnest(batch) a where a.verdict = 'valid';

  perform earnings_account(p.project_id) from (select distinct a.project_id from unnest(payable) a order by 1) p;
  insert into campaign_days (campaign_id, day)
    select distinct a.campaign_id, a.day from unnest(payable) a order by 1, 2 on conflict do nothing;
  insert into campaign_totals (campaign_id)
    select distinct a.campaign_id from unnest(payable) a order by 1 on conflict do nothing;
  select jsonb_object_agg(d.campaign_id || ' ' || d.day, d.spent_nanos) into day_spent
    from (select * from campaign_days d where (d.campaign_id, d.day) in (select a.campaign_id, a.day from unnest(payable) a)
      order by d.campaign_id, d.day for no key update) d;
  select jsonb_object_agg(t.campaign_id, t.spent_nanos) into total_spent
    from (select * from campaign_totals t where t.campaign_id in (select a.campaign_id from unnest(payable) a)
      order by t.campaign_id for no key update) t;
  -- A budget that was lowered holds for what is shown from then on. Null is none, which greatest() would leave out.
  select jsonb_object_agg(a.id, jsonb_build_object(
      'day', case when m.daily_budget_nanos is not null
        then greatest(m.daily_budget_nanos, (facts -> a.id::text ->> 'day')::int8) end,
      'total', case when m.total_budget_nanos is not null
        then greatest(m.total_budget_nanos, (facts -> a.id::text ->> 'total')::int8) end))
    into budgets from unnest(payable) a join campaigns m on m.id = a.campaign_id;
  select jsonb_object_agg(w.advertiser_id, w.balance_nanos) into credit_left
    from (select * from advertiser_wallets w where w.advertiser_id in (select a.advertiser_id from unnest(payable) a)
      order by w.advertiser_id for no key update) w;
  select jsonb_object_agg(e.project_id, e.share_bps) into shares
    from (select * from earnings e where e.project_id in (select a.project_id from unnest(payable) a)
      order by e.project_id for no key update) e;

  select jsonb_object_agg(p.id, p.publisher_id),
      array_agg(p.id) filter (where p.archived_at is null and u.activated_at is not null)
    into publishers, open
    from projects p join publishers u on u.id = p.publisher_id where p.id in (select a.project_id from unnest(payable) a);
  -- Two projects of a publisher have no row in common, and what a network follows is counted for both together.
  perform pg_advisory_xact_lock(l.key) from (
    select distinct hashtextextended('clicks of ' || p.value, 0) as key from jsonb_each_text(publishers) p order by 1) l;

  before := clicks_before(payable);

  foreach c in array coalesce(batch, '{}') loop
    click_id := c.id;
    select k.verdict into decided from clicks k where k.id = c.id;
    if not found then
      day_key := c.campaign_id || ' ' || c.day;
      decided := c.verdict;
      if decided = 'valid' then
        decided := case
          when c.project_id <> all (coalesce(open, '{}')) then 'project_closed'
          -- A network that follows this many recommendations of one publisher in ten minutes is no reader, even if each click
          -- looks like a reader's.
          when (select count(*) from (
              select jsonb_array_elements_text(before -> c.id::text)::uuid
              union select f.recommendation_id from unnest(followed) f
              where f.network_tag = c.network_tag and f.recommendation_id <> c.recommendation_id
                and publishers -> f.project_id::text = publishers -> c.project_id::text
                and f.id >= first_id_of(time_of_id(c.id) - interval '10 minutes')) others) >= 5 then 'too_many'
          when exists (select from clicks k where k.recommendation_id = c.recommendation_id and k.price_nanos > 0) then 'repeat'
          when c.price_nanos + (day_spent ->> day_key)::int8 > (budgets -> c.id::text ->> 'day')::int8
            or c.price_nanos + (total_spent ->> c.campaign_id::text)::int8 > (budgets -> c.id::text ->> 'total')::int8
            then 'over_budget'
          when c.price_nanos <= (credit_left ->> c.advertiser_id::text)::int8 then 'valid'
          else 'no_credit' end;
        if decided <> 'project_closed' then followed := followed || c; end if;
      end if;
      share := 0;
      if decided = 'valid' then
        share := c.price_nanos * (shares ->> c.project_id::text)::int / 10000;
        day_spent := day_spent || jsonb_build_object(day_key, (day_spent ->> day_key)::int8 + c.price_nanos);
        total_spent := total_spent
          || jsonb_build_object(c.campaign_id, (total_spent ->> c.campaign_id::text)::int8 + c.price_nanos);
        credit_left := credit_left
          || jsonb_build_object(c.advertiser_id, (credit_left ->> c.advertiser_id::text)::int8 - c.price_nanos);
      end if;
      insert into clicks (id, recommendation_id, project_id, advertiser_id, campaign_id, offer_id, verdict, price_nanos,
          share_nanos, state, network_tag)
        values (c.id, c.recommendation_id, c.project_id, c.advertiser_id, c.campaign_id, c.offer_id, decided,
          case when decided = 'valid' then c.price_nanos else 0 end, share,
          case when decided = 'valid' then 'pending' else 'unpaid' end, c.network_tag)
        returning * into click;
      written := written || click;
      calls := calls || (facts -> c.id::text ->> 'call')::uuid;
      if decided = 'valid' then
        paid := paid || click;
        fees := fees || c.fee_id;
      end if;
    end if;
    return next;
  end loop;
  perform clicks_charge(paid, fees);
  perform clicks_sum(written, calls, 1);
end $$;

revoke execute on function clicks_apply from public;
grant execute on function clicks_apply to parley_gateway;

-- The version before called them from here.
drop function if exists clicks_decide(asked_click), clicks_write(asked_click, text);
