-- Money goes back to who paid it, for whoever accepts that the wallet owes what it does not have.
create or replace function ledger_refund_owing(id uuid, project uuid, amount int8, reference text, reason text)
returns boolean language plpgsql as $$
begin
  perform ledger_cover(project, amount, reference);
  return ledger_transfer(id, project, '00000000-0000-0000-0000-000000000005', amount, 'refund', reference, reason, null);
end $$;

revoke execute on function ledger_refund_owing from public;
