-- What is counted for calls of these publishers, projects, key pairs and end users, beside the limits that hold for them. The
-- arrays are read in parallel, and nulls are nobody. An end user is counted from the first call for which there is a limit.
create or replace function limits_states_of(publishers uuid[], projects uuid[], pairs uuid[], end_users uuid[])
returns setof limit_states language plpgsql as $$
begin
  insert into limit_counts (scope, subject, project_id)
    select distinct 'end_user', u.id, u.project_id from unnest(end_users, projects) as u (id, project_id)
    where u.id is not null
      and not exists (select from limit_counts c where c.scope = 'end_user' and c.subject = u.id)
      and exists (select from limits d where (d.scope, d.subject) in (('end_users', u.project_id), ('end_user', u.id)));
  return query select s.* from (
    select distinct n.scope, n.subject from unnest(publishers, projects, pairs, end_users) as u (publisher, project, pair, end_user)
      cross join lateral (values ('publisher', u.publisher), ('project', u.project), ('key_pair', u.pair),
        ('end_user', u.end_user)) as n (scope, subject)
  ) n join limit_states s on s.scope = n.scope and s.subject = n.subject;
end $$;

revoke execute on function limits_states_of from public;
