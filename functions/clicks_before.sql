-- Which recommendations of its project the network of each click has followed in the ten minutes before: five at most, by the id
-- of the click. Planned anew for each batch: a plan from when the table was empty would go through all clicks of a project.
create or replace function clicks_before(asked asked_click[]) returns jsonb language plpgsql
set plan_cache_mode = force_custom_plan as $$
begin
  return (
    select coalesce(jsonb_object_agg(a.id, b.recommendations), '{}')
    from unnest(asked) a cross join lateral (
      select array_agg(f.recommendation_id) as recommendations from (
        select distinct k.recommendation_id from clicks k where k.project_id = a.project_id and k.network_tag = a.network_tag
          and k.verdict in ('valid', 'too_many', 'repeat', 'over_budget', 'no_credit')
          and k.id >= first_id_of(time_of_id(a.id) - interval '10 minutes') and k.id < a.id
          and k.recommendation_id <> a.recommendation_id limit 5) f) b
    where b.recommendations is not null);
end $$;

revoke execute on function clicks_before from public;
