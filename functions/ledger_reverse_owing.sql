-- ledger_reverse, for whoever accepts that the wallet owes what it does not have.
create or replace function ledger_reverse_owing(id uuid, original uuid, reference text, reason text)
returns boolean language plpgsql as $$
#variable_conflict use_variable
begin
  perform ledger_cover(t.credit_account, t.amount_nanos, reference)
    from transfers t join accounts a on a.id = t.credit_account and a.kind = 'wallet' where t.id = original;
  return ledger_reverse(id, original, reference, reason);
end $$;

revoke execute on function ledger_reverse_owing from public;
