-- Takes what a wallet owes from what has become available in it. Needs the wallet's lock.
create or replace function ledger_collect(project uuid) returns void language plpgsql as $$
declare due int8; collection uuid := gen_random_uuid();
begin
  select least(w.owed_nanos, w.balance_nanos - w.held_nanos) into strict due from wallets w where w.project_id = project;
  if due > 0 then
    insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference) values
      (collection, project, '00000000-0000-0000-0000-000000000009', due, 'collection', 'collection:' || collection);
    update wallets w set balance_nanos = w.balance_nanos - due, owed_nanos = w.owed_nanos - due where w.project_id = project;
  end if;
end $$;

revoke execute on function ledger_collect from public;
