-- Corrections of the ledger, and payments. Nothing is ever edited: what was wrong is corrected by a transfer that names
-- what it corrects, a call or another transfer. The limits of corrections hold here, whoever posts them and however many
-- at once: every statement that moves money locks the wallet first, so no two of them check the same rest.

create index transfers_correcting on transfers (corrects) where corrects is not null;
create unique index one_reversal_per_transfer on transfers (corrects) where kind = 'reversal';

-- As before, and now the wallet is locked before the reference is taken: two replays that also take the lock for a check
-- of their own would otherwise wait for each other. What a transfer corrects is part of its content.
create or replace function ledger_transfer(id uuid, debit uuid, credit uuid, amount int8, kind text, reference text,
  reason text, corrects uuid) returns boolean language plpgsql as $$
#variable_conflict use_variable
declare earlier transfers;
begin
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
  return true;
end $$;

-- What a call or a transfer has come to for a wallet, with everything that has corrected it since.
create function ledger_effect(wallet uuid, subject uuid) returns int8 language sql stable as $$
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

-- Gives back what a call was charged, at most all of it: posted first and then checked, because a refused one leaves
-- nothing behind. A replay returns false.
create function ledger_refund_call(id uuid, project uuid, call uuid, amount int8, reference text, reason text)
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

-- Posts the opposite of a transfer, once. What partial corrections have undone already cannot be undone again: a
-- correction of something may cancel it, but never turn it into its opposite.
create function ledger_reverse(id uuid, original uuid, reference text, reason text) returns boolean language plpgsql as $$
declare o transfers; wallet uuid; subject uuid; effect int8; subject_takes boolean;
begin
  select * into o from transfers t where t.id = original;
  if not found then
    raise exception 'there is no transfer %', original using errcode = 'no_data_found';
  end if;
  if o.kind = 'reversal' then
    raise exception 'transfer % is a reversal', original
      using errcode = 'check_violation', constraint = 'a_reversal_is_final';
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

-- What a payment provider has taken back of a credited transfer is taken from the wallet: never more than is left of that
-- credit, and never more than is available. The rest is the operator's loss. Returns what the wallet paid.
create function ledger_take_back(project uuid, credited uuid, amount int8, kind text, reference text, reason text)
returns int8 language plpgsql as $$
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

-- One row per checkout. It says what was asked for; the ledger says what was credited.
create table payments (
  session_id text primary key check (length(session_id) between 1 and 200), -- the provider's checkout session
  project_id uuid not null references projects,
  -- The provider counts in cents.
  amount_nanos int8 not null check (amount_nanos > 0 and amount_nanos % 10000000 = 0),
  currency text not null check (currency = 'usd'),
  state text not null default 'created' check (state in ('created', 'paid', 'expired', 'refunded')),
  -- Known when it is paid. The credit's reference is 'stripe:' and this: the payment, not the event that told of it.
  payment_intent text unique check (length(payment_intent) between 1 and 200),
  -- Why an event about this payment was not honoured, for the operator to look into.
  problem text check (length(problem) <= 500),
  created_at timestamptz not null default now(),
  paid_at timestamptz,
  check ((state in ('paid', 'refunded')) = (payment_intent is not null)),
  check ((payment_intent is null) = (paid_at is null))
);
create index payments_of_project on payments (project_id, created_at);

-- What the provider has given back to a payer: all refunds of one charge together, or one dispute. Kept apart from
-- payments because events come in any order: what is taken back of a payment that is not credited yet waits here.
create table payment_returns (
  id text primary key check (length(id) between 1 and 200), -- the provider's id of the charge or of the dispute
  payment_intent text not null check (length(payment_intent) between 1 and 200),
  kind text not null check (kind in ('refund', 'chargeback')),
  amount_nanos int8 not null check (amount_nanos > 0), -- only grows
  settled_nanos int8 not null default 0 check (settled_nanos between 0 and amount_nanos), -- how much the ledger has of it
  created_at timestamptz not null default now()
);
create index payment_returns_of_payment on payment_returns (payment_intent);
