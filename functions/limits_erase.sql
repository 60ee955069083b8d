-- Forgets what was counted for an end user of a project, unless calls for them run: what those hold is counted there.
-- Runs with its owner's rights, because the console's tenant role may not lock wallets; a tenant's own login forgets end users
-- of its own project only.
create or replace function limits_erase(project uuid, end_user uuid) returns void language plpgsql
security definer set search_path = public, pg_temp as $$
begin
  if pg_has_role(session_user, 'parley_tenant', 'member') and not pg_has_role(session_user, current_user, 'member')
    and project is distinct from tenant_project() then
    raise exception 'project % is not the tenant of this transaction', project using errcode = 'insufficient_privilege';
  end if;
  -- As the ledger locks it, so that no call is counted meanwhile.
  perform from wallets w where w.project_id = project for no key update;
  delete from limit_counts c
    where c.scope = 'end_user' and c.subject = end_user and c.project_id = project and c.open_holds = 0;
end $$;

revoke execute on function limits_erase from public;
grant execute on function limits_erase to parley_tenant;
