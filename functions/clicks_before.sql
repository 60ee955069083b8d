-- The recommendations of its publisher that the network of each click has followed in the ten minutes before: five at most, by
-- the id of the click. Of all projects of the publisher, or whoever has a hundred would earn a hundred times from one network.
-- They are looked up once for a batch, whose first click comes first; of deleted ones only what was deleted since then can have
-- clicks that count.
--
-- Rows are compared whole, because only the index that begins with the network can find them so, whatever the planner knows of the
-- table: where nothing is known yet, it takes any index of the project for as good, and reads all of the project's clicks. And they
-- are found before they are told apart (`offset 0`), or it would go through an index that has recommendations in order. Nothing of it
-- is compiled: what the planner takes for dear reads a few rows, and to compile it takes a quarter of a second.
create or replace function clicks_before(asked asked_click[]) returns jsonb language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
declare siblings jsonb; -- the projects of each project's publisher
begin
  select jsonb_object_agg(s.project_id, s.ids) into siblings from (
    select b.project_id, array_agg(p.id) as ids
    from (select distinct a.project_id from unnest(asked) a) b join projects mine on mine.id = b.project_id
      join projects p on p.publisher_id = mine.publisher_id
    where p.archived_at is null or p.archived_at > time_of_id((asked[1]).id) - interval '10 minutes'
    group by 1) s;
  return (
    select coalesce(jsonb_object_agg(a.id, b.recommendations), '{}')
    from (select u.*, first_id_of(time_of_id(u.id) - interval '10 minutes') as since from unnest(asked) u offset 0) a
    cross join lateral (
      select array_agg(f.recommendation_id) as recommendations from (
        select distinct n.recommendation_id
        from jsonb_array_elements_text(siblings -> a.project_id::text) p (id) cross join lateral (
          select k.recommendation_id from clicks k
          where (k.network_tag, k.project_id, k.id) >= (a.network_tag, p.id::uuid, a.since)
            and (k.network_tag, k.project_id, k.id) < (a.network_tag, p.id::uuid, a.id)
            and k.verdict in ('valid', 'too_many', 'repeat', 'over_budget', 'no_credit')
            and k.recommendation_id <> a.recommendation_id offset 0) n
        limit 5) f) b
    where b.recommendations is not null);
end $$;

revoke execute on function clicks_before from public;
