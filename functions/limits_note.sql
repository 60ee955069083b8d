-- Notes in the wallets of a publisher, or of one project of theirs, whether any limit holds for their calls. Where none is left,
-- what still runs is counted no more: nobody would give it back. Needs the wallets' locks, for update: a session that begins at
-- this moment must not be told that there are limits while this takes that word back.
create or replace function limits_note(publisher uuid, project uuid) returns void language plpgsql as $$
begin
  update wallets w set has_limits = exists (
      select from limits d where d.project_id = p.id or (d.scope = 'publisher' and d.subject = p.publisher_id))
    from projects p where p.id = w.project_id and p.publisher_id = publisher and (project is null or p.id = project);
  with unlimited as (
    select w.project_id from wallets w join projects p on p.id = w.project_id
    where p.publisher_id = publisher and (project is null or p.id = project) and not w.has_limits
  ), released as (
    update holds h set counts = null from unlimited u where h.project_id = u.project_id and h.counts is not null
  )
  update limit_counts c set held_nanos = 0, open_holds = 0 from unlimited u
    where c.project_id = u.project_id and (c.held_nanos > 0 or c.open_holds > 0);
end $$;

revoke execute on function limits_note from public;
