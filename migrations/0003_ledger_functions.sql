-- The statements that move money. ledger_apply is THE statement: one call of it is one transaction and one fsync for a
-- whole micro-batch of settles, extensions and new holds, from src/store/ledger.ts.
--
-- Rules it keeps:
--   1. Wallet rows are locked first and in id order, so two batches never wait for each other in a circle.
--   2. Settles come before extensions and holds: what they release can be granted in the same statement.
--   3. Everything is idempotent by call id: sending a batch again changes nothing and returns the same answers.
--   4. Holds are granted greedily in arrival order; a hold that cannot be granted in full may be granted in part, but
--      never below the minimum that its caller asked for.

create type ledger_answer as (id uuid, part text, amount_nanos int8, refusal text);

-- Settles: [{id, project_id, bill_nanos, usage_nanos, …}]; bill_nanos is what the rules want charged, usage_nanos what
-- the tokens are worth. The bill is paid from the call's own hold and then, for an overrun, from what is available.
create function ledger_settle(settles json) returns setof ledger_answer language plpgsql as $$
#variable_conflict use_column
declare settled int;
begin
  return query with asked as (
    select * from json_to_recordset(settles) as s (
      n int, id uuid, bill_nanos int8, usage_nanos int8, input_tokens int, cached_input_tokens int,
      cache_write_tokens int, output_tokens int, reasoning_tokens int, usage_source text, outcome text,
      deployment_id uuid, conversation_id text, request_id text, streamed boolean, status int2, finish_reason text,
      error_code text, first_token_ms int, duration_ms int, attempts json, has_key boolean, result text)
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
      usage_source, outcome, held_at)
    select p.id, p.project_id, p.key_pair_id, p.model_id, p.price_version_id, p.gateway_id, p.held, p.usage_nanos,
      p.charged, p.input_tokens, p.cached_input_tokens, p.cache_write_tokens, p.output_tokens, p.reasoning_tokens,
      p.usage_source, p.outcome, p.held_at
    from paid p
  ), call as (
    insert into calls (id, project_id, key_pair_id, model_id, deployment_id, conversation_id, request_id, streamed,
      status, outcome, finish_reason, error_code, first_token_ms, duration_ms, attempts, created_at)
    select p.id, p.project_id, p.key_pair_id, p.model_id, p.deployment_id, p.conversation_id, p.request_id, p.streamed,
      p.status, p.outcome, p.finish_reason, p.error_code, p.first_token_ms, p.duration_ms, p.attempts, p.held_at
    from paid p
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

-- A batch in which some hold was gone: it was sent before (answer what was charged), or its gateway was paused so long
-- that its holds were swept. The latter did answer its caller, so its bill is collected now, once, from what is
-- available; what is not available is absorbed. If it had claimed an idempotency key that another call has taken over
-- since, that other call is the one that pays.
create function ledger_settle_late(settles json) returns setof ledger_answer language plpgsql as $$
#variable_conflict use_column
declare s record; c record; paid int8; late_reference text;
begin
  for s in
    select * from json_to_recordset(settles) as s (
      id uuid, project_id uuid, bill_nanos int8, outcome text, has_key boolean, result text)
    order by s.id
  loop
    select charged_nanos, outcome into c from charges where id = s.id;
    if not found then
      return query select s.id, 'settle', null::int8, 'unknown';
      continue;
    end if;
    paid := c.charged_nanos;
    if c.outcome = 'gateway_died' and s.outcome <> 'gateway_died' and s.bill_nanos > 0 then
      late_reference := 'late:' || s.id;
      if not exists (select 1 from transfers t where t.reference in (late_reference, 'absorbed:' || s.id)) then
        select least(s.bill_nanos, balance_nanos - held_nanos) into paid from wallets where project_id = s.project_id;
        if s.has_key then
          update idempotency_keys set result = s.result where call_id = s.id;
          paid := case when found then paid else 0 end;
        end if;
        if paid > 0 then
          insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference, corrects) values
            (gen_random_uuid(), s.project_id, '00000000-0000-0000-0000-000000000001', paid, 'late_charge',
             late_reference, s.id);
          update wallets set balance_nanos = balance_nanos - paid where project_id = s.project_id;
        end if;
        if s.bill_nanos > paid then
          insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference, corrects) values
            (gen_random_uuid(), '00000000-0000-0000-0000-000000000006', '00000000-0000-0000-0000-000000000001',
             s.bill_nanos - paid, 'absorbed', 'absorbed:' || s.id, s.id);
        end if;
      else
        select coalesce(sum(t.amount_nanos), 0) into paid from transfers t where t.reference = late_reference;
      end if;
    end if;
    return query select s.id, 'settle', paid, null::text;
  end loop;
end $$;

-- Extensions: [{id, project_id, extension, want_nanos, min_nanos}]. Answers the hold's new total; unchanged means refused.
create function ledger_extend(extensions json) returns setof ledger_answer language plpgsql as $$
#variable_conflict use_column
declare e record; h record; available int8; granted int8;
begin
  for e in
    select * from json_to_recordset(extensions) as e (
      n int, id uuid, project_id uuid, extension int2, want_nanos int8, min_nanos int8) order by e.n
  loop
    select amount_nanos, extension into h from holds where id = e.id for update;
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

-- New holds: [{n, id, project_id, key_pair_id, model_id, price_version_id, want_nanos, min_nanos, has_key}], in arrival
-- order; n counts them from 1.
-- Key pair, account, domain and limits are checked here again, against the truth: what a gateway has cached may be
-- seconds old, and limits must hold across all gateways.
-- A gateway that was paused may ask late: if another call took over its call's idempotency key meanwhile, that other call
-- is the one that runs.
-- An id carries the time of its gateway's clock. If that is days off, there may be no partition for the call's charge: the
-- call could never be settled, and its hold would fail every sweep.
create function ledger_hold(gateway uuid, asked json) returns setof ledger_answer language plpgsql as $$
#variable_conflict use_column
declare
  a record; project uuid; available int8; open_holds int; requests int; granted int8; refusal text;
  this_minute timestamptz := date_trunc('minute', now());
  grants int8[] := array_fill(0::int8, array[json_array_length(asked)]); -- by n; 0: refused, or held before
  first_id uuid := first_id_of(now() - interval '36 hours');
  last_id uuid := first_id_of(now() + interval '36 hours');
begin
  for a in
    select n.n, n.id, n.project_id, n.want_nanos, n.min_nanos, w.balance_nanos, w.held_nanos, w.open_holds as wallet_open_holds,
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

-- A request that was delayed on its way, or sent again after a pause, may have held credit once more for a call that was
-- settled or swept meanwhile. Its charge exists, so that hold cannot become another one: it is given back.
create function ledger_give_back(settles json) returns void language sql as $$
  with risen as (
    delete from holds h using json_to_recordset(settles) as s (id uuid), charges c where h.id = s.id and c.id = h.id
    returning h.project_id, h.amount_nanos
  )
  update wallets w set held_nanos = w.held_nanos - t.held, open_holds = w.open_holds - t.calls
  from (select project_id, sum(amount_nanos)::int8 as held, count(*)::int as calls from risen group by project_id) t
  where w.project_id = t.project_id
$$;

-- The micro-batch. project_ids: the distinct projects of everything in it.
create function ledger_apply(gateway uuid, project_ids uuid[], settles json, extensions json, asked json)
returns setof ledger_answer language plpgsql as $$
begin
  perform 1 from wallets w where w.project_id = any (project_ids) order by w.project_id for no key update;
  if settles is not null then
    begin
      return query select * from ledger_settle(settles);
    exception when unique_violation then
      perform ledger_give_back(settles);
      return query select * from ledger_settle(settles);
    end;
  end if;
  if extensions is not null then
    return query select * from ledger_extend(extensions);
  end if;
  if asked is not null then
    return query select * from ledger_hold(gateway, asked);
  end if;
end $$;

-- Releases what dead gateways left: holds whose gateway has not beaten for lease, or that outlived every possible stream.
-- Candidates are read without locks and settled by the ordinary statement, so a gateway that settles one of them at the
-- same moment simply wins. Returns how many holds were released.
create function ledger_sweep(lease interval, longest_call interval, most int) returns int language plpgsql as $$
declare swept int; projects uuid[]; settles json;
begin
  select count(*), array_agg(distinct x.project_id), json_agg(json_build_object(
      'n', x.n, 'id', x.id, 'project_id', x.project_id, 'bill_nanos', 0, 'usage_nanos', 0, 'input_tokens', 0,
      'cached_input_tokens', 0, 'cache_write_tokens', 0, 'output_tokens', 0, 'reasoning_tokens', 0,
      'usage_source', 'none', 'outcome', 'gateway_died', 'request_id', '', 'streamed', false, 'status', 0,
      'duration_ms', x.age_ms, 'attempts', '[]'::json))
    into swept, projects, settles
  from (
    select h.id, h.project_id, row_number() over (order by h.id) as n,
      (extract(epoch from now() - h.held_at) * 1000)::int as age_ms
    from holds h left join gateways g on g.id = h.gateway_id
    where g.beat_at is null or g.beat_at < now() - lease or h.held_at < now() - longest_call
    order by h.id limit most
  ) x;
  if swept > 0 then
    perform ledger_apply(null, projects, settles, null, null);
  end if;
  return swept;
end $$;

-- Every movement that is not a charge. Idempotent by reference: a replay returns false; the same reference with another
-- content is an error. Taking more than is available is refused by the wallet's own CHECK.
create function ledger_transfer(id uuid, debit uuid, credit uuid, amount int8, kind text, reference text, reason text,
  corrects uuid) returns boolean language plpgsql as $$
#variable_conflict use_variable
declare earlier transfers;
begin
  insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference, reason, corrects)
    values (id, debit, credit, amount, kind, reference, reason, corrects)
    on conflict on constraint transfers_reference_key do nothing;
  if not found then
    select * into strict earlier from transfers t where t.reference = ledger_transfer.reference;
    if (earlier.debit_account, earlier.credit_account, earlier.amount_nanos, earlier.kind)
      is distinct from (debit, credit, amount, kind) then
      raise exception 'reference % was already used for another transfer', reference using errcode = 'unique_violation';
    end if;
    return false;
  end if;
  update wallets w set balance_nanos = w.balance_nanos + case when w.project_id = credit then amount else -amount end
  where w.project_id in (debit, credit);
  return true;
end $$;
