-- What is owed is owed, and odd reports of usage are kept.
--
-- A chargeback, a refund or a reversal may take back credit that is spent, or held by calls that still run. The wallet
-- then gets an advance for what is missing (kind 'owed', from the account 'receivable'), and the whole amount is taken:
-- so the correction itself is posted in full, once, whatever the wallet has. The advance is collected as soon as a hold
-- is released or credit arrives (kind 'collection'). While a wallet owes it has nothing available, and no wallet of its
-- publisher gets a hold.

alter table accounts drop constraint accounts_kind_check;
alter table accounts add constraint accounts_kind_check check (kind in
  ('wallet', 'revenue', 'cash', 'promotion', 'ad_revenue', 'refunds', 'absorbed', 'breakage', 'adjustment', 'receivable'));
insert into accounts (id, kind) values ('00000000-0000-0000-0000-000000000009', 'receivable');

alter table transfers drop constraint transfers_kind_check;
alter table transfers add constraint transfers_kind_check check (kind in ('topup', 'grant', 'ad_revenue', 'refund',
  'chargeback', 'expiry', 'adjustment', 'reversal', 'late_charge', 'absorbed', 'owed', 'collection'));

-- In the order in which they happened, also within a transaction: an advance comes before what it pays for, and a
-- collection after the credit that it takes, or a balance on the way would seem to be below zero.
alter table transfers alter column created_at set default clock_timestamp();

alter table wallets add column owed_nanos int8 not null default 0;
alter table wallets add constraint owed_is_not_negative check (owed_nanos >= 0);

-- Reports of usage that cannot be right, one row per call: for the operator, by provider and by project.
create table usage_anomalies (
  call_id uuid primary key,
  project_id uuid not null,
  model_id text not null,
  provider text not null,
  anomalies text[] not null check (cardinality(anomalies) > 0),
  -- What the provider said, before it was bounded. Null: nothing.
  reported json,
  created_at timestamptz not null default now()
);
create index usage_anomalies_by_time on usage_anomalies (created_at);
alter table usage_anomalies enable row level security;
create policy tenant on usage_anomalies to parley_tenant using (project_id = tenant_project());
create trigger usage_anomalies_append_only before update on usage_anomalies
  for each row execute function forbid_change();

-- Needs the wallet's lock.
create function ledger_collect(project uuid) returns void language plpgsql as $$
declare due int8; collection uuid := gen_random_uuid();
begin
  select least(w.owed_nanos, w.balance_nanos - w.held_nanos) into strict due from wallets w where w.project_id = project;
  if due > 0 then
    insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference) values
      (collection, project, '00000000-0000-0000-0000-000000000009', due, 'collection', 'collection:' || collection);
    update wallets w set balance_nanos = w.balance_nanos - due, owed_nanos = w.owed_nanos - due where w.project_id = project;
  end if;
end $$;

-- Makes sure that so much can be taken from a wallet: advances what is missing. A reference that was posted before takes
-- nothing again, so nothing is advanced for it.
create function ledger_cover(project uuid, amount int8, reference text) returns int8 language plpgsql as $$
#variable_conflict use_variable
declare missing int8;
begin
  select amount - (w.balance_nanos - w.held_nanos) into strict missing from wallets w
    where w.project_id = project for no key update;
  if missing <= 0 or exists (select 1 from transfers t where t.reference = ledger_cover.reference) then
    return 0;
  end if;
  insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference) values
    (gen_random_uuid(), '00000000-0000-0000-0000-000000000009', project, missing, 'owed', 'owed:' || reference);
  update wallets w set balance_nanos = w.balance_nanos + missing, owed_nanos = w.owed_nanos + missing
    where w.project_id = project;
  return missing;
end $$;

-- As before, and credit that arrives goes to what is owed first.
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
  perform ledger_collect(w.project_id) from wallets w where w.project_id = credit and w.owed_nanos > 0;
  return true;
end $$;

-- As before; what was advanced is paid by collecting it, and not by undoing either.
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

-- The same two, for whoever accepts that the wallet owes what it does not have.
create function ledger_refund_owing(id uuid, project uuid, amount int8, reference text, reason text)
returns boolean language plpgsql as $$
begin
  perform ledger_cover(project, amount, reference);
  return ledger_transfer(id, project, '00000000-0000-0000-0000-000000000005', amount, 'refund', reference, reason, null);
end $$;

create function ledger_reverse_owing(id uuid, original uuid, reference text, reason text)
returns boolean language plpgsql as $$
#variable_conflict use_variable
begin
  perform ledger_cover(t.credit_account, t.amount_nanos, reference)
    from transfers t join accounts a on a.id = t.credit_account and a.kind = 'wallet' where t.id = original;
  return ledger_reverse(id, original, reference, reason);
end $$;

-- What a payment provider has taken back of a credited transfer is taken from the wallet, and owed as far as the wallet
-- does not have it; never more than is left of that credit. The rest is the operator's loss. ledger_take_back stays for the
-- version before this one, which may still run.
create function ledger_take_owing(project uuid, credited uuid, amount int8, kind text, reference text, reason text,
  out owed int8, out absorbed int8) language plpgsql as $$
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

-- Returns have a standing: what the payment provider said last. Events come in any order, so each says when it was made
-- (told_at), how far the dispute had come by then (stage), and whether the money is the operator's again (reinstated).
-- What the ledger has of a return is read from the ledger; settled_nanos is kept for the version before this one, which
-- would take it again.
alter table payment_returns add column told_at timestamptz not null default 'epoch';
alter table payment_returns add column stage int2 not null default 0;
alter table payment_returns add column reinstated boolean not null default false;

-- Brings the ledger to where a payment's returns stand, whatever was posted before: in the end the wallet has of the payment
-- what is left after all returns that stand, and never less than nothing. Gives back first, so that what another return
-- could not take then is taken now, and not kept by the wallet. What an operator has reversed by hand stays as it is.
create function ledger_settle_returns(payment text, out taken int8, out owed int8, out absorbed int8, out given_back int8)
language plpgsql as $$
declare p payments; credited uuid; r payment_returns; t record; took record; missing int8; posted int;
begin
  taken := 0;
  owed := 0;
  absorbed := 0;
  given_back := 0;
  select * into p from payments where payment_intent = payment;
  select id into credited from transfers where reference = 'stripe:' || payment and credit_account = p.project_id;
  if credited is null then
    return;
  end if;
  perform 1 from wallets w where w.project_id = p.project_id for no key update;
  for r in
    select * from payment_returns where payment_intent = payment order by reinstated desc, created_at, id
  loop
    missing := r.amount_nanos;
    posted := 0;
    for t in
      select b.id, b.kind, b.amount_nanos, u.reference as undone_by
      from transfers b left join transfers u on u.corrects = b.id and u.kind = 'reversal'
      where b.corrects = credited and (starts_with(b.reference, 'stripe:' || r.id || ':')
        or starts_with(b.reference, 'absorbed:stripe:' || r.id || ':'))
    loop
      posted := posted + 1;
      if t.undone_by is null
        and (r.reinstated or (t.kind = 'absorbed' and ledger_effect(p.project_id, credited) > 0)) then
        perform ledger_reverse(gen_random_uuid(), t.id, 'reinstated:' || t.id,
          case when r.reinstated then 'the dispute ended well' else 'it can be taken now' end);
        if t.kind = 'absorbed' then
          absorbed := absorbed - t.amount_nanos;
        else
          given_back := given_back + t.amount_nanos;
        end if;
      elsif t.undone_by is distinct from 'reinstated:' || t.id then
        missing := missing - t.amount_nanos;
      end if;
    end loop;
    if missing > 0 and not r.reinstated then
      select * into took from ledger_take_owing(p.project_id, credited, missing, r.kind,
        'stripe:' || r.id || ':' || posted + 1, 'by Stripe');
      taken := taken + missing - took.absorbed;
      owed := owed + took.owed;
      absorbed := absorbed + took.absorbed;
    end if;
  end loop;
  update payment_returns set settled_nanos = amount_nanos where payment_intent = payment;
  update payments set state = case when amount_nanos <= (
      select coalesce(sum(b.amount_nanos), 0) from payment_returns b
      where b.payment_intent = payment and not b.reinstated) then 'refunded' else 'paid' end
    where session_id = p.session_id;
end $$;

-- As before, and only the holds of the project whose wallet pays.
create or replace function ledger_extend(extensions json) returns setof ledger_answer language plpgsql as $$
#variable_conflict use_column
declare e record; h record; available int8; granted int8;
begin
  for e in
    select * from json_to_recordset(extensions) as e (
      n int, id uuid, project_id uuid, extension int2, want_nanos int8, min_nanos int8) order by e.n
  loop
    select amount_nanos, extension into h from holds where id = e.id and project_id = e.project_id for update;
    if not found then
      return query select e.id, 'extend', 0::int8, 'unknown';
      continue;
    end if;
    if h.extension < e.extension then
      select balance_nanos - held_nanos into available from wallets where project_id = e.project_id;
      granted := least(e.want_nanos, available);
      if granted > 0 and granted >= e.min_nanos then
        update holds set amount_nanos = amount_nanos + granted, extension = e.extension where id = e.id;
        update wallets set held_nanos = held_nanos + granted where project_id = e.project_id;
        h.amount_nanos := h.amount_nanos + granted;
      end if;
    end if;
    return query select e.id, 'extend', h.amount_nanos, null::text;
  end loop;
end $$;

-- As before, and odd reports are kept.
create or replace function ledger_settle(settles json) returns setof ledger_answer language plpgsql as $$
#variable_conflict use_column
declare settled int;
begin
  return query with asked as (
    select * from json_to_recordset(settles) as s (
      n int, id uuid, bill_nanos int8, usage_nanos int8, input_tokens int, cached_input_tokens int,
      cache_write_tokens int, output_tokens int, reasoning_tokens int, usage_source text, outcome text,
      deployment_id uuid, conversation_id text, request_id text, streamed boolean, status int2, finish_reason text,
      error_code text, first_token_ms int, duration_ms int, attempts json, has_key boolean, result text, anomalies text[], provider text, reported json)
  ), closed as (
    -- Returns both sides, so that nothing below has to join them again: with a whole batch that would be quadratic.
    delete from holds h using asked s where h.id = s.id
    returning s.*, h.project_id, h.key_pair_id, h.model_id, h.price_version_id, h.gateway_id, h.amount_nanos as held,
      h.held_at, least(s.bill_nanos, h.amount_nanos) as within, greatest(s.bill_nanos - h.amount_nanos, 0) as overrun
  ), sized as (
    select c.*,
      sum(c.held - c.within) over (partition by c.project_id) as released,
      -- What earlier overruns of this batch take from the same wallet before this one.
      sum(c.overrun) over (partition by c.project_id order by c.n) - c.overrun as overrun_before
    from closed c
  ), paid as (
    select z.*, z.within + least(z.overrun,
        greatest(w.balance_nanos - w.held_nanos + z.released - z.overrun_before, 0))::int8 as charged
    from sized z join wallets w on w.project_id = z.project_id
  ), charge as (
    insert into charges (id, project_id, key_pair_id, model_id, price_version_id, gateway_id, held_nanos, usage_nanos,
      charged_nanos, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
      usage_source, outcome, held_at, settled_at)
    select p.id, p.project_id, p.key_pair_id, p.model_id, p.price_version_id, p.gateway_id, p.held, p.usage_nanos,
      p.charged, p.input_tokens, p.cached_input_tokens, p.cache_write_tokens, p.output_tokens, p.reasoning_tokens,
      p.usage_source, p.outcome, p.held_at,
      -- A sweep may have begun just before a hold that it finds: now() is when its transaction began.
      greatest(now(), p.held_at)
    from paid p
  ), call as (
    insert into calls (id, project_id, key_pair_id, model_id, deployment_id, conversation_id, request_id, streamed,
      status, outcome, finish_reason, error_code, first_token_ms, duration_ms, attempts, created_at)
    select p.id, p.project_id, p.key_pair_id, p.model_id, p.deployment_id, p.conversation_id, p.request_id, p.streamed,
      p.status, p.outcome, p.finish_reason, p.error_code, p.first_token_ms, p.duration_ms, p.attempts, p.held_at
    from paid p
  ), anomaly as (
    insert into usage_anomalies (call_id, project_id, model_id, provider, anomalies, reported)
    select p.id, p.project_id, p.model_id, p.provider, p.anomalies, p.reported from paid p where p.anomalies is not null
  ), stored as (
    update idempotency_keys k set result = p.result from paid p where p.result is not null and k.call_id = p.id
  ), given_up as (
    delete from idempotency_keys k using paid p where p.has_key and p.result is null and k.call_id = p.id
  ), wallet as (
    update wallets w set
      balance_nanos = w.balance_nanos - t.charged, held_nanos = w.held_nanos - t.held, open_holds = w.open_holds - t.calls,
      minute_started_at = date_trunc('minute', now()),
      minute_requests = case when w.minute_started_at = date_trunc('minute', now()) then w.minute_requests else 0 end,
      minute_tokens = t.tokens
        + case when w.minute_started_at = date_trunc('minute', now()) then w.minute_tokens else 0 end
    from (
      select p.project_id, sum(p.charged)::int8 as charged, sum(p.held)::int8 as held, count(*)::int as calls,
        sum(p.input_tokens + p.cached_input_tokens + p.cache_write_tokens + p.output_tokens + p.reasoning_tokens) as tokens
      from paid p group by p.project_id
    ) t
    where w.project_id = t.project_id
  )
  select p.id, 'settle', p.charged, null::text from paid p;

  get diagnostics settled = row_count;
  if settled < json_array_length(settles) then
    return query select * from ledger_settle_late(settles);
  end if;
end $$;


-- As before, and nothing is granted while any wallet of the publisher owes: otherwise who owes goes on with another project.
-- Asked once for each project of a batch.
create or replace function ledger_hold(gateway uuid, asked json) returns setof ledger_answer language plpgsql as $$
#variable_conflict use_column
declare
  a record; project uuid; available int8; open_holds int; requests int; granted int8; refusal text; owes boolean;
  this_minute timestamptz := date_trunc('minute', now());
  grants int8[] := array_fill(0::int8, array[json_array_length(asked)]); -- by n; 0: refused, or held before
  first_id uuid := first_id_of(now() - interval '36 hours');
  last_id uuid := first_id_of(now() + interval '36 hours');
begin
  for a in
    select n.n, n.id, n.project_id, n.want_nanos, n.min_nanos, w.balance_nanos, w.held_nanos, p.publisher_id,
      w.open_holds as wallet_open_holds,
      case when w.minute_started_at = this_minute then w.minute_requests else 0 end as minute_requests,
      case when w.minute_started_at = this_minute then w.minute_tokens else 0 end as minute_tokens,
      p.requests_per_minute, p.tokens_per_minute, p.concurrent_calls, h.amount_nanos as already_held,
      case
        when k.active is not true or k.expires_at <= now() then 'key_inactive'
        when u.activated_at is null then 'account_not_activated'
        when d.verified_at is null then 'domain_not_verified'
        when w.project_id is null then 'credit_insufficient'
      end as standing, n.has_key
    from json_to_recordset(asked) as n (
        n int, id uuid, project_id uuid, key_pair_id uuid, want_nanos int8, min_nanos int8, has_key boolean)
      left join key_pairs k on k.id = n.key_pair_id and k.project_id = n.project_id
      left join projects p on p.id = n.project_id
      left join publishers u on u.id = p.publisher_id
      left join domains d on d.project_id = n.project_id
      left join wallets w on w.project_id = n.project_id
      left join holds h on h.id = n.id
    order by n.project_id, n.n
  loop
    if project is distinct from a.project_id then
      project := a.project_id;
      available := a.balance_nanos - a.held_nanos;
      open_holds := a.wallet_open_holds;
      requests := a.minute_requests;
      owes := exists (select from projects p join wallets w on w.project_id = p.id
        where p.publisher_id = a.publisher_id and w.owed_nanos > 0);
    end if;
    if a.already_held is not null then
      return query select a.id, 'hold', a.already_held, null::text;
      continue;
    end if;
    granted := least(a.want_nanos, available);
    if a.has_key then
      -- Locked, so that nobody takes the key over between this look at it and the hold.
      perform 1 from idempotency_keys k where k.call_id = a.id for share;
    end if;
    refusal := case
      when a.id not between first_id and last_id then 'clock_wrong'
      when a.has_key and not found then 'idempotency_running'
      when a.standing is not null then a.standing
      when requests >= a.requests_per_minute then 'rate_limited'
      when a.minute_tokens >= a.tokens_per_minute then 'rate_limited'
      when open_holds >= a.concurrent_calls then 'concurrency_limited'
      when owes then 'credit_owed'
      when granted > 0 and granted >= a.min_nanos then null
      when a.balance_nanos >= greatest(a.min_nanos, 1) then 'credit_held'
      else 'credit_insufficient'
    end;
    if refusal is null then
      available := available - granted;
      open_holds := open_holds + 1;
      requests := requests + 1;
      grants[a.n] := granted;
    end if;
    return query select a.id, 'hold', case when refusal is null then granted else 0 end, refusal;
  end loop;

  with granted as (
    insert into holds (id, project_id, key_pair_id, model_id, price_version_id, gateway_id, amount_nanos)
    select n.id, n.project_id, n.key_pair_id, n.model_id, n.price_version_id, gateway, grants[n.n]
    from json_to_recordset(asked) as n (
      n int, id uuid, project_id uuid, key_pair_id uuid, model_id text, price_version_id int8)
    where grants[n.n] > 0
    returning project_id, amount_nanos
  )
  update wallets w set
    held_nanos = w.held_nanos + t.held, open_holds = w.open_holds + t.calls,
    minute_started_at = this_minute,
    minute_requests = t.calls + case when w.minute_started_at = this_minute then w.minute_requests else 0 end,
    minute_tokens = case when w.minute_started_at = this_minute then w.minute_tokens else 0 end
  from (
    select project_id, sum(amount_nanos)::int8 as held, count(*)::int as calls from granted group by project_id
  ) t
  where w.project_id = t.project_id;
end $$;


-- As before, and what is released goes to what is owed first.
create or replace function ledger_apply(gateway uuid, project_ids uuid[], settles json, extensions json, asked json)
returns setof ledger_answer language plpgsql as $$
declare somebody_owes boolean;
begin
  select bool_or(w.owed_nanos > 0) into somebody_owes from (
    select owed_nanos from wallets where project_id = any (project_ids) order by project_id for no key update) w;
  if settles is not null then
    begin
      return query select * from ledger_settle(settles);
    exception when unique_violation then
      perform ledger_give_back(settles);
      return query select * from ledger_settle(settles);
    end;
    if somebody_owes then
      perform ledger_collect(w.project_id) from wallets w where w.project_id = any (project_ids) and w.owed_nanos > 0;
    end if;
  end if;
  if extensions is not null then
    return query select * from ledger_extend(extensions);
  end if;
  if asked is not null then
    return query select * from ledger_hold(gateway, asked);
  end if;
end $$;
