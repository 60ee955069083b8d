-- Every movement that is not a charge. Idempotent by reference: a replay returns false; the same reference with another
-- content is an error, and what a transfer corrects is part of its content. Taking more than is available is refused by
-- the wallet's own CHECK. Credit that arrives goes to what is owed first.
-- A sandbox takes no top-ups, and no credit moves between it and another wallet.
-- The wallet is locked before the reference is taken: two replays that also take the lock for a check of their own
-- would otherwise wait for each other.
create or replace function ledger_transfer(id uuid, debit uuid, credit uuid, amount int8, kind text, reference text,
  reason text, corrects uuid) returns boolean language plpgsql as $$
#variable_conflict use_variable
declare earlier transfers;
begin
  if exists (select from projects p where p.id in (debit, credit) and p.is_sandbox)
    and (kind = 'topup' or (select count(*) from wallets w where w.project_id in (debit, credit)) > 1) then
    raise exception 'credit of a sandbox is neither bought nor moved to another project'
      using errcode = 'check_violation', constraint = 'sandbox_credit_stays';
  end if;
  perform 1 from wallets w where w.project_id in (debit, credit) order by w.project_id for no key update;
  insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference, reason, corrects)
    values (id, debit, credit, amount, kind, reference, reason, corrects)
    on conflict on constraint transfers_reference_key do nothing;
  if not found then
    select * into strict earlier from transfers t where t.reference = ledger_transfer.reference;
    if (earlier.debit_account, earlier.credit_account, earlier.amount_nanos, earlier.kind, earlier.corrects)
      is distinct from (debit, credit, amount, kind, corrects) then
      raise exception 'reference % was already used for another transfer', reference
        using errcode = 'unique_violation', constraint = 'transfers_reference_key';
    end if;
    return false;
  end if;
  update wallets w set balance_nanos = w.balance_nanos + case when w.project_id = credit then amount else -amount end
  where w.project_id in (debit, credit);
  update advertiser_wallets w set balance_nanos = w.balance_nanos + case when w.advertiser_id = credit then amount else -amount end
  where w.advertiser_id in (debit, credit);
  update earnings e set pending_nanos = e.pending_nanos + case when e.account_id = credit then amount else -amount end
  where e.account_id in (debit, credit);
  perform ledger_collect(w.project_id) from wallets w where w.project_id = credit and w.owed_nanos > 0;
  return true;
end $$;

revoke execute on function ledger_transfer from public;
