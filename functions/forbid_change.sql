-- Past events stay as they were written: charges, calls, transfers, prices, anomalies of usage and the audit log are
-- append-only, also for the owner's statements.
create or replace function forbid_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: correct it with a new row', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;

revoke execute on function forbid_change from public;
