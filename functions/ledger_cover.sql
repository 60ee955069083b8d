-- Makes sure that so much can be taken from a wallet: advances what is missing, and the wallet owes it. So what is
-- taken back is posted in full, once, whatever the wallet has. A reference that was posted before takes nothing again,
-- so nothing is advanced for it. Returns what was advanced.
create or replace function ledger_cover(project uuid, amount int8, reference text) returns int8 language plpgsql as $$
#variable_conflict use_variable
declare missing int8;
begin
  select amount - (w.balance_nanos - w.held_nanos) into strict missing from wallets w
    where w.project_id = project for no key update;
  if missing <= 0 or exists (select 1 from transfers t where t.reference = ledger_cover.reference) then
    return 0;
  end if;
  insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference) values
    (gen_random_uuid(), '00000000-0000-0000-0000-000000000009', project, missing, 'owed', 'owed:' || reference);
  update wallets w set balance_nanos = w.balance_nanos + missing, owed_nanos = w.owed_nanos + missing
    where w.project_id = project;
  return missing;
end $$;

revoke execute on function ledger_cover from public;
