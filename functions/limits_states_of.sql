-- The counts for calls of these publishers, projects, key pairs, end users and browser sessions, with the limits that hold for
-- them. The arrays are read in parallel, and a null stands for no subject. An end user is counted from the first call for which
-- there is a limit, a session from its beginning.
create or replace function limits_states_of(publishers uuid[], projects uuid[], pairs uuid[], end_users uuid[],
  sessions uuid[]) returns setof limit_states language plpgsql as $$
begin
  insert into limit_counts (scope, subject, project_id)
    select 'end_user', u.id, u.project_id from (
      select distinct n.id, n.project_id from unnest(end_users, projects) as n (id, project_id) where n.id is not null
    ) u
    -- Not "exists": a join or a hash would read the end users of all projects, and this looks up a few.
    where (select c.id from limit_counts c where c.scope = 'end_user' and c.subject = u.id) is null
      and coalesce((select d.scope from limits d where d.scope = 'end_users' and d.subject = u.project_id),
        (select d.scope from limits d where d.scope = 'end_user' and d.subject = u.id)) is not null;
  return query select s.* from (
    select 'publisher' as scope, u.id from (select distinct unnest(publishers)) as u (id)
    union all select 'project', u.id from (select distinct unnest(projects)) as u (id)
    union all select 'key_pair', u.id from (select distinct unnest(pairs)) as u (id)
    union all select 'end_user', u.id from (select distinct unnest(end_users)) as u (id)
    union all select 'session', u.id from (select distinct unnest(sessions)) as u (id)
  ) n join limit_states s on s.scope = n.scope and s.subject = n.id;
end $$;

-- Named with its parameters: a form without sessions may be left from an earlier version.
revoke execute on function limits_states_of(uuid[], uuid[], uuid[], uuid[], uuid[]) from public;
