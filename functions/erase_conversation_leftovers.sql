-- Erases, in the next conversations after a place, what a deleted one still has of its calls' metadata, and its opening. A
-- console or a command of a version that knows neither leaves them behind while versions are replaced. The row itself
-- distinguishes a deleted conversation from one that was never stored, whose metadata stays.
-- `seen` conversations were looked at, the last of which is the place that was reached; `erased` rows of metadata are gone. When
-- that is `most`, there may be more of the same ones.
-- Runs with its owner's rights, because the worker may read neither which conversation metadata belongs to nor what it says.
create or replace function erase_conversation_leftovers(after_project uuid, after_id text, most int)
returns table (project uuid, id text, seen int, erased int) language sql
security definer set search_path = public, pg_temp as $$
  with seen as materialized (
    select c.project_id, c.id, c.deleted_at is not null as is_deleted, c.opening_digest is not null as has_opening
    from conversations c where (c.project_id, c.id) > (after_project, after_id)
    order by c.project_id, c.id limit most
  ), opening as (
    update conversations c set opening_messages = null, opening_digest = null
    from seen s where c.project_id = s.project_id and c.id = s.id and s.is_deleted and s.has_opening
  ), erased as (
    delete from call_metadata where (project_id, call_id, key) in (
      select m.project_id, m.call_id, m.key from seen s cross join lateral (
        -- One by one, because a plan for any number of rows would read all metadata there is.
        select m.project_id, m.call_id, m.key from call_metadata m
        where m.project_id = s.project_id and m.conversation_id = s.id limit most) m
      where s.is_deleted limit most)
    returning 1
  )
  select s.project_id, s.id, (select count(*)::int from seen), (select count(*)::int from erased)
  from seen s order by s.project_id desc, s.id desc limit 1
$$;

revoke execute on function erase_conversation_leftovers from public;
grant execute on function erase_conversation_leftovers to parley_worker;
