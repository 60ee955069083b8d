-- Called by no present version: it is there for consoles from before wallets could owe, while they are replaced. What a
-- payment provider has taken back of a credited transfer is taken from the wallet: never more than is left of that
-- credit, and never more than is available. The rest is the operator's loss. Returns what the wallet paid. Since then:
-- ledger_take_owing.
create or replace function ledger_take_back(project uuid, credited uuid, amount int8, kind text, reference text,
  reason text) returns int8 language plpgsql as $$
declare paid int8;
begin
  perform 1 from wallets w where w.project_id = project for no key update;
  select greatest(least(amount, w.balance_nanos - w.held_nanos, ledger_effect(project, credited)), 0) into strict paid
    from wallets w where w.project_id = project;
  if paid > 0 then
    perform ledger_transfer(gen_random_uuid(), project, '00000000-0000-0000-0000-000000000005', paid, kind, reference,
      reason, credited);
  end if;
  if amount > paid then
    perform ledger_transfer(gen_random_uuid(), '00000000-0000-0000-0000-000000000006',
      '00000000-0000-0000-0000-000000000005', amount - paid, 'absorbed', 'absorbed:' || reference, reason, credited);
  end if;
  return paid;
end $$;

revoke execute on function ledger_take_back from public;
