-- Takes from the wallet what a payment provider has taken back of a credited transfer; the part that the wallet does not have
-- is owed. Never more than is left of that credit: the rest is the operator's loss.
create or replace function ledger_take_owing(project uuid, credited uuid, amount int8, kind text, reference text,
  reason text, out owed int8, out absorbed int8) language plpgsql as $$
declare due int8;
begin
  perform 1 from wallets w where w.project_id = project for no key update;
  owed := 0;
  absorbed := 0;
  if exists (select 1 from transfers t
    where t.reference in (ledger_take_owing.reference, 'absorbed:' || ledger_take_owing.reference)) then
    return;
  end if;
  due := greatest(least(amount, ledger_effect(project, credited)), 0);
  absorbed := amount - due;
  if due > 0 then
    owed := ledger_cover(project, due, reference);
    perform ledger_transfer(gen_random_uuid(), project, '00000000-0000-0000-0000-000000000005', due, kind, reference,
      reason, credited);
  end if;
  if absorbed > 0 then
    perform ledger_transfer(gen_random_uuid(), '00000000-0000-0000-0000-000000000006',
      '00000000-0000-0000-0000-000000000005', absorbed, 'absorbed', 'absorbed:' || reference, reason, credited);
  end if;
end $$;

revoke execute on function ledger_take_owing from public;
