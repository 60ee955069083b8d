-- Forgets what was counted of a project's end users in months that are over, unless they have spent something of a total budget,
-- which never resets. Who was always refused has spent nothing. Returns how many; none while somebody else has the wallet, under
-- whose lock a call is counted.
-- Runs with its owner's rights, because the worker may not lock wallets.
create or replace function limits_forget(project uuid, most int) returns int language plpgsql
security definer set search_path = public, pg_temp as $$
declare forgotten int;
begin
  perform from wallets w where w.project_id = project for no key update skip locked;
  if not found then
    return 0;
  end if;
  delete from limit_counts where id in (
    select c.id from limit_counts c
    where c.project_id = project and c.scope = 'end_user' and c.held_nanos = 0 and c.open_holds = 0
      and c.month_started_at < date_trunc('month', now(), 'UTC') and c.minute_started_at < date_trunc('hour', now())
      and (c.total_nanos = 0 or not exists (select from limits l where l.total_nanos is not null
        and (l.scope, l.subject) in (('end_users', project), ('end_user', c.subject))))
    limit most);
  get diagnostics forgotten = row_count;
  return forgotten;
end $$;

revoke execute on function limits_forget from public;
grant execute on function limits_forget to parley_worker;
