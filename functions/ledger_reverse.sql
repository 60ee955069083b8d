-- Posts the opposite of a transfer, once. What partial corrections have undone already cannot be undone again: a
-- correction of something may cancel it, but never turn it into its opposite. What was advanced is paid by collecting
-- it, and not by undoing either.
create or replace function ledger_reverse(id uuid, original uuid, reference text, reason text)
returns boolean language plpgsql as $$
declare o transfers; wallet uuid; subject uuid; effect int8; subject_takes boolean;
begin
  select * into o from transfers t where t.id = original;
  if not found then
    raise exception 'there is no transfer %', original using errcode = 'no_data_found';
  end if;
  if o.kind in ('reversal', 'owed', 'collection') then
    raise exception 'transfer % is a reversal', original
      using errcode = 'check_violation', constraint = 'a_reversal_is_final';
  end if;
  if exists (select from accounts a where a.id in (o.debit_account, o.credit_account) and a.kind in ('advertiser', 'earnings')
    and o.kind in ('click', 'ad_revenue')) then
    raise exception 'transfer % is of clicks, which are reversed one by one', original
      using errcode = 'check_violation', constraint = 'clicks_are_reversed_whole';
  end if;
  if not ledger_transfer(id, o.credit_account, o.debit_account, o.amount_nanos, 'reversal', reference, reason, original) then
    return false;
  end if;
  select a.id into wallet from accounts a where a.id in (o.debit_account, o.credit_account) and a.kind = 'wallet';
  subject := coalesce(o.corrects, original);
  -- Only a transfer into the wallet gives; a call, and a transfer out of it, take.
  subject_takes := not exists (select 1 from transfers t where t.id = subject and t.credit_account = wallet);
  effect := ledger_effect(wallet, subject);
  if (subject_takes and effect > 0) or (not subject_takes and effect < 0) then
    raise exception 'transfer % was corrected in part before', original
      using errcode = 'check_violation', constraint = 'corrects_at_most_all';
  end if;
  return true;
end $$;

revoke execute on function ledger_reverse from public;
