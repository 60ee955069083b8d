-- The effect that a call or a transfer has had on a wallet, with everything that has corrected it since.
create or replace function ledger_effect(wallet uuid, subject uuid) returns int8 language sql stable as $$
  with recursive related as (
    select subject as id
    union
    select t.id from transfers t join related r on t.corrects = r.id
  )
  select (coalesce((select -charged_nanos from charges where id = subject and project_id = wallet), 0)
    + coalesce((
        select sum(case when t.credit_account = wallet then t.amount_nanos else -t.amount_nanos end)
        from transfers t join related r on t.id = r.id
        where wallet in (t.debit_account, t.credit_account)), 0))::int8
$$;

revoke execute on function ledger_effect from public;
