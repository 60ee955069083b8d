-- Forgets a project's browser sessions that ended so long ago, with their budgets. Returns how many, or null while somebody else
-- has the wallet: that says nothing of how many there are. The wallet of a busy project is free again within milliseconds.
-- Runs with its owner's rights, because the worker may write neither limits nor wallets.
create or replace function browser_sessions_forget(project uuid, kept interval, most int) returns int language plpgsql
security definer set search_path = public, pg_temp as $$
declare forgotten int;
begin
  perform from wallets w where w.project_id = project for update skip locked;
  if not found then
    return null;
  end if;
  with gone as (
    delete from browser_sessions where id in (
      select s.id from browser_sessions s where s.project_id = project and s.expires_at < now() - kept limit most)
    returning id
  ), budgets as (
    delete from limits d using gone g where d.scope = 'session' and d.subject = g.id
  ), counts as (
    delete from limit_counts c using gone g where c.scope = 'session' and c.subject = g.id
  )
  select count(*) into forgotten from gone;
  perform limits_note(p.publisher_id, p.id) from projects p where p.id = project;
  return forgotten;
end $$;

revoke execute on function browser_sessions_forget from public;
grant execute on function browser_sessions_forget to parley_worker;
