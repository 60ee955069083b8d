-- Adds clicks to the sums that publishers look at, in the transaction that writes them down (`by` is 1) or takes them back
-- (-1): of their days, of their advertisers and categories, and of the conversations that they belong to.
--
-- Called last, because whoever calls it holds the locks of budgets and wallets already; rows are taken in the order of their
-- keys, so two batches never wait for each other in a circle.
--
-- `called` are the calls that the clicks belong to, in the order of `counted`; a call that is not stored any more counts for nobody.
-- All tables are large, and few of their rows are asked for: by their ids, whatever the planner knows of the tables by now. Of calls
-- there is a partition for every day, and only those between the first call and the last are opened.
create or replace function clicks_sum(counted clicks[], called uuid[], by int) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare call uuid; first_call uuid; last_call uuid;
begin
  insert into click_days as d (project_id, day, verdict, clicks, share_nanos, taken_back, taken_back_nanos)
    select k.project_id, (time_of_id(k.id) at time zone 'utc')::date, k.verdict, count(*) filter (where by > 0),
      by * sum(k.share_nanos), count(*) filter (where by < 0), coalesce(sum(k.share_nanos) filter (where by < 0), 0)
    from unnest(counted) k group by 1, 2, 3 order by 1, 2, 3
    on conflict (project_id, day, verdict) do update set clicks = d.clicks + excluded.clicks,
      share_nanos = d.share_nanos + excluded.share_nanos, taken_back = d.taken_back + excluded.taken_back,
      taken_back_nanos = d.taken_back_nanos + excluded.taken_back_nanos;

  insert into recommendation_days as d (project_id, day, advertiser_id, category, shown, clicks, earned_nanos)
    select k.project_id, (time_of_id(k.id) at time zone 'utc')::date, k.advertiser_id,
      coalesce(split_part(o.category, ' > ', 1), ''), 0, by * count(*), by * sum(k.share_nanos)
    from unnest(counted) k left join offers o on o.id = k.offer_id
    where k.verdict = 'valid' group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (project_id, day, advertiser_id, category) do update set clicks = d.clicks + excluded.clicks,
      earned_nanos = d.earned_nanos + excluded.earned_nanos;

  foreach call in array called loop
    first_call := least(first_call, call);
    last_call := greatest(last_call, call);
  end loop;
  -- Not of a conversation that was deleted meanwhile: its sums are gone for good. The calls are found first, by their ids: from the
  -- conversations, all of a project's would be read.
  with found as materialized (
    select c.project_id, c.conversation_id, k.share_nanos
    from unnest(counted) with ordinality k
      join calls c on c.id = called[k.ordinality] and c.id between first_call and last_call and c.project_id = k.project_id
    where k.verdict = 'valid'
  )
  insert into conversation_sums as s (project_id, conversation_id, calls, input_tokens, output_tokens, charged_nanos, clicks,
      earned_nanos)
    select f.project_id, f.conversation_id, 0, 0, 0, 0, by * count(*), by * sum(f.share_nanos)
    from found f join conversations v on v.project_id = f.project_id and v.id = f.conversation_id and v.deleted_at is null
    group by 1, 2 order by 1, 2
    on conflict (project_id, conversation_id) do update set clicks = s.clicks + excluded.clicks,
      earned_nanos = s.earned_nanos + excluded.earned_nanos;
end $$;

revoke execute on function clicks_sum from public;
