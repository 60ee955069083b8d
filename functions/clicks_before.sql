-- Which recommendations of its project the network of each click has followed in the ten minutes before: five at most, by the id
-- of the click.
--
-- Rows are compared whole, because only the index that begins with the network can find them so, whatever the planner knows of the
-- table: where nothing is known yet, it takes any index of the project for as good, and reads all of the project's clicks. And they
-- are found before they are told apart (`offset 0`), or it would go through an index that has recommendations in order.
create or replace function clicks_before(asked asked_click[]) returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  return (
    select coalesce(jsonb_object_agg(a.id, b.recommendations), '{}')
    from unnest(asked) a cross join lateral (
      select array_agg(f.recommendation_id) as recommendations from (
        select distinct n.recommendation_id from (
          select k.recommendation_id from clicks k
          where (k.network_tag, k.project_id, k.id) >=
              (a.network_tag, a.project_id, first_id_of(time_of_id(a.id) - interval '10 minutes'))
            and (k.network_tag, k.project_id, k.id) < (a.network_tag, a.project_id, a.id)
            and k.verdict in ('valid', 'too_many', 'repeat', 'over_budget', 'no_credit')
            and k.recommendation_id <> a.recommendation_id offset 0) n
        limit 5) f) b
    where b.recommendations is not null);
end $$;

revoke execute on function clicks_before from public;
