-- Adds clicks to the sums that publishers look at, in the transaction that writes them down (`by` is 1) or takes them back
-- (-1): of their days, of their advertisers and categories, and of the conversations that they belong to.
--
-- Called last, because whoever calls it holds the locks of budgets and wallets already; rows are taken in the order of their
-- keys, so two batches never wait for each other in a circle.
--
-- All tables are large, and few of their rows are asked for: by their ids, whatever the planner knows of the tables by now. Clicks
-- are looked up first and then filtered: of valid ones there are very many, which it may take for few.
create or replace function clicks_count(counted uuid[], by int) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  insert into click_days as d (project_id, day, verdict, clicks, share_nanos, taken_back, taken_back_nanos)
    select k.project_id, (time_of_id(k.id) at time zone 'utc')::date, k.verdict, count(*) filter (where by > 0),
      by * sum(k.share_nanos), count(*) filter (where by < 0), coalesce(sum(k.share_nanos) filter (where by < 0), 0)
    from clicks k where k.id = any (counted) group by 1, 2, 3 order by 1, 2, 3
    on conflict (project_id, day, verdict) do update set clicks = d.clicks + excluded.clicks,
      share_nanos = d.share_nanos + excluded.share_nanos, taken_back = d.taken_back + excluded.taken_back,
      taken_back_nanos = d.taken_back_nanos + excluded.taken_back_nanos;

  insert into recommendation_days as d (project_id, day, advertiser_id, category, shown, clicks, earned_nanos)
    with found as materialized (select * from clicks k where k.id = any (counted))
    select k.project_id, (time_of_id(k.id) at time zone 'utc')::date, k.advertiser_id,
      coalesce(split_part(o.category, ' > ', 1), ''), 0, by * count(*), by * sum(k.share_nanos)
    from found k left join offers o on o.id = k.offer_id
    where k.verdict = 'valid' group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (project_id, day, advertiser_id, category) do update set clicks = d.clicks + excluded.clicks,
      earned_nanos = d.earned_nanos + excluded.earned_nanos;

  -- Not of a conversation that was deleted meanwhile: its sums are gone for good.
  insert into conversation_sums as s (project_id, conversation_id, calls, input_tokens, output_tokens, charged_nanos, clicks,
      earned_nanos)
    with found as materialized (select * from clicks k where k.id = any (counted))
    select c.project_id, c.conversation_id, 0, 0, 0, 0, by * count(*), by * sum(k.share_nanos)
    from found k join recommendations r on r.id = k.recommendation_id
      join calls c on c.id = r.call_id and c.project_id = k.project_id
      join conversations v on v.project_id = c.project_id and v.id = c.conversation_id and v.deleted_at is null
    where k.verdict = 'valid' group by 1, 2 order by 1, 2
    on conflict (project_id, conversation_id) do update set clicks = s.clicks + excluded.clicks,
      earned_nanos = s.earned_nanos + excluded.earned_nanos;
end $$;

revoke execute on function clicks_count from public;
