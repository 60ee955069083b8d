-- Gives back what a call was charged, at most all of it: posted first and then checked, because a refused one leaves
-- nothing behind. A replay returns false.
create or replace function ledger_refund_call(id uuid, project uuid, call uuid, amount int8, reference text, reason text)
returns boolean language plpgsql as $$
begin
  if not exists (select 1 from charges c where c.id = call and c.project_id = project) then
    raise exception 'project % has no settled call %', project, call using errcode = 'no_data_found';
  end if;
  if not ledger_transfer(id, '00000000-0000-0000-0000-000000000001', project, amount, 'refund', reference, reason, call) then
    return false;
  end if;
  if ledger_effect(project, call) > 0 then
    raise exception 'more than call % was charged', call
      using errcode = 'check_violation', constraint = 'corrects_at_most_all';
  end if;
  return true;
end $$;

revoke execute on function ledger_refund_call from public;
