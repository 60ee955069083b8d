-- New holds: [{n, id, project_id, key_pair_id, end_user_id, session_id, session_want_nanos, model_id, price_version_id,
-- want_nanos, min_nanos, has_key, endpoint}], in arrival order; n counts them from 1.
-- What a call of a browser session wants is in session_want_nanos, and its want_nanos is 0: a function of a version without
-- sessions, which an operator may have gone back to, then grants nothing, where it would otherwise grant without any bound. What
-- it was told of the session is acknowledged in a row 'session', without which a gateway refuses the call.
-- Key pair, account, domain and limits are checked here again, against the truth: what a gateway has cached may be
-- seconds old, and limits must hold across all gateways. The limits of a minute (requests, tokens) are those of the
-- clock's minute. The project's own are counted in the wallet's row, which is locked anyway; all others, and every budget,
-- in limit_counts, for wallets that have any: read once for a whole batch, and written once, because a row that one
-- transaction writes a hundred times is read a hundred times slower. Whether the pair may call is also said in
-- src/gateway/authenticate.ts and src/store/calls/idempotency.ts: the three must say the same. A browser session has a budget
-- among those, and its calls are counted in its own row; both change under the lock of the wallet only. One without its budget
-- is refused: nothing would bound it.
-- Each refusal is a code of src/rules/errors.ts, except clock_wrong. More is said of a hold in rows of their own, which a gateway
-- that does not know them skips: 'limited_by' is SCOPE:WHAT of the limit that refused it; 'rates' are requests per minute and what is
-- left of them, and tokens per minute and what is left of them, of the tightest limit each.
-- Nothing is granted while any wallet of the publisher owes: otherwise a publisher who owes would just use another
-- project. This is checked once per project of a batch.
-- A gateway that was paused may ask late: if another call took over its call's idempotency key meanwhile, that other
-- call is the one that runs.
-- An id carries the time of its gateway's clock. If that is days off, there may be no partition for the call's charge:
-- the call could never be settled, and its hold would fail every sweep.
create or replace function ledger_hold(gateway uuid, asked json) returns setof ledger_answer language plpgsql as $$
#variable_conflict use_column
declare
  a record; project uuid; available int8; open_holds int; requests int; granted int8; refusal text; owes boolean;
  verdict limits_verdict; limited_by text;
  states limit_states[]; -- what is counted for the limits of this batch, as it was before
  grown int8[]; calls int[]; -- what it has granted since, and to how many calls: by place in states
  places jsonb; -- where in states each publisher, project, key pair, end user and session is
  place int; subject uuid; l limit_states; applying limit_states[]; applied int[]; counted int8[]; amounts int8[];
  this_minute timestamptz := date_trunc('minute', now());
  grants int8[] := array_fill(0::int8, array[json_array_length(asked)]); -- by n; 0: refused, or held before
  counts text[]; -- by n; the rows of limit_counts that it is counted in, as text: arrays of arrays must be even
  session_place int; has_sessions boolean := false; -- where in states the call's session is; any was granted something
  first_id uuid := first_id_of(now() - interval '36 hours');
  last_id uuid := first_id_of(now() + interval '36 hours');
begin
  for a in
    select coalesce(n.session_want_nanos, n.want_nanos) as want_nanos, n.session_want_nanos is not null as is_told_of_session,
      n.n, n.id, n.project_id, n.end_user_id, n.min_nanos, w.balance_nanos, w.held_nanos,
      p.publisher_id, coalesce(k.counted_as, k.id) as counted_as, w.has_limits, w.open_holds as wallet_open_holds,
      case when w.minute_started_at = this_minute then w.minute_requests else 0 end as minute_requests,
      case when w.minute_started_at = this_minute then w.minute_tokens else 0 end as minute_tokens,
      p.requests_per_minute, p.tokens_per_minute, p.concurrent_calls, h.amount_nanos as already_held,
      case
        when k.active is not true or k.expires_at <= now() or p.archived_at is not null then 'key_inactive'
        when u.activated_at is null then 'account_not_activated'
        when d.verified_at is null then 'domain_not_verified'
        when w.project_id is null then 'credit_insufficient'
        when n.session_id is not null and (s.id is null or s.expires_at <= now() or not w.has_limits) then 'session_over'
      end as standing, n.has_key, n.session_id, s.calls_max, s.calls_made
    from json_to_recordset(asked) as n (
        n int, id uuid, project_id uuid, key_pair_id uuid, end_user_id uuid, want_nanos int8, min_nanos int8,
        has_key boolean, session_id uuid, session_want_nanos int8)
      left join key_pairs k on k.id = n.key_pair_id and k.project_id = n.project_id
      left join projects p on p.id = n.project_id
      left join publishers u on u.id = p.publisher_id
      left join domains d on d.project_id = n.project_id
      left join wallets w on w.project_id = n.project_id
      left join holds h on h.id = n.id
      left join browser_sessions s on s.id = n.session_id and s.key_pair_id = n.key_pair_id
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
    if a.is_told_of_session then
      return query select a.id, 'session', null::int8, null::text;
    end if;
    if a.already_held is not null then
      return query select a.id, 'hold', a.already_held, null::text;
      continue;
    end if;
    verdict := null;
    session_place := null;
    if a.has_limits then
      if states is null then
        select coalesce(array_agg(t.s order by t.place), '{}'), coalesce(jsonb_object_agg((t.s).subject, t.place), '{}')
          into states, places
        from (
          select s, row_number() over () as place from (
            select array_agg(p.publisher_id) as publishers, array_agg(p.id) as projects,
              array_agg(coalesce(k.counted_as, k.id)) as pairs, array_agg(n.end_user_id) as end_users,
              array_agg(n.session_id) as sessions
            from json_to_recordset(asked) as n (project_id uuid, key_pair_id uuid, end_user_id uuid, session_id uuid)
              join wallets w on w.project_id = n.project_id and w.has_limits
              join projects p on p.id = n.project_id
              left join key_pairs k on k.id = n.key_pair_id and k.project_id = n.project_id
          ) b cross join limits_states_of(b.publishers, b.projects, b.pairs, b.end_users, b.sessions) s
        ) t;
        grown := array_fill(0::int8, array[cardinality(states)]);
        calls := array_fill(0, array[cardinality(states)]);
      end if;
      applying := null;
      applied := null;
      foreach subject in array array[a.publisher_id, a.project_id, a.counted_as, a.end_user_id, a.session_id] loop
        place := places ->> subject::text;
        if place is not null then
          l := states[place];
          l.left_nanos := l.left_nanos - grown[place];
          l.held_nanos := l.held_nanos + grown[place];
          l.open_holds := l.open_holds + calls[place];
          l.minute_requests := l.minute_requests + calls[place];
          applying := applying || l;
          applied := applied || place;
        end if;
      end loop;
      verdict := limits_check(applying, a.want_nanos, a.min_nanos);
      session_place := places ->> a.session_id::text;
    end if;
    if a.requests_per_minute is not null or a.tokens_per_minute is not null then
      verdict.rates := rates_tightest(
        verdict.rates, a.requests_per_minute, requests, a.tokens_per_minute, a.minute_tokens);
    end if;
    granted := least(a.want_nanos, available, verdict.granted);
    if a.has_key then
      -- Locked, so that nobody takes the key over between this look at it and the hold.
      perform 1 from idempotency_keys k where k.call_id = a.id for share;
    end if;
    limited_by := case
      when a.calls_made + calls[session_place] >= a.calls_max then 'session:calls'
      when requests >= a.requests_per_minute then 'project:requests'
      when a.minute_tokens >= a.tokens_per_minute then 'project:tokens'
      when open_holds >= a.concurrent_calls then 'project:calls'
    end;
    refusal := case
      when a.id not between first_id and last_id then 'clock_wrong'
      when a.has_key and not found then 'idempotency_running'
      when a.standing is not null then a.standing
      when a.session_id is not null and session_place is null then 'session_over'
      when limited_by = 'session:calls' then 'budget_used_up'
      when limited_by = 'project:calls' then 'concurrency_limited'
      when limited_by is not null then 'rate_limited'
      when verdict.refusal is not null then verdict.refusal
      when owes then 'credit_owed'
      when granted > 0 and granted >= a.min_nanos then null
      when a.balance_nanos >= greatest(a.min_nanos, 1) then 'credit_held'
      else 'credit_insufficient'
    end;
    if refusal is null then
      available := available - granted;
      open_holds := open_holds + 1;
      requests := requests + 1;
      has_sessions := has_sessions or a.session_id is not null;
      grants[a.n] := granted;
      if verdict.counts is not null then
        counts[a.n] := verdict.counts::text;
        counted := counted || verdict.counts;
        amounts := amounts || array_fill(granted, array[cardinality(verdict.counts)]);
        foreach place in array applied loop
          grown[place] := grown[place] + granted;
          calls[place] := calls[place] + 1;
        end loop;
      end if;
    end if;
    return query select a.id, 'hold', case when refusal is null then granted else 0 end, refusal;
    limited_by := coalesce(limited_by, verdict.limited_by);
    if refusal is not null and limited_by is not null then
      return query select a.id, 'limited_by', null::int8, limited_by;
    end if;
    if verdict.rates is not null then
      return query select a.id, 'rates', null::int8, verdict.rates::text;
    end if;
  end loop;
  if counted is not null then
    perform limits_hold(counted, amounts, 1);
  end if;
  if has_sessions then
    update browser_sessions s set calls_made = s.calls_made + t.calls
    from (
      select n.session_id, count(*)::int as calls from json_to_recordset(asked) as n (n int, session_id uuid)
      where grants[n.n] > 0 group by n.session_id
    ) t
    where s.id = t.session_id;
  end if;

  with granted as (
    insert into holds (id, project_id, key_pair_id, end_user_id, session_id, model_id, price_version_id, gateway_id,
      amount_nanos, counts, endpoint)
    select n.id, n.project_id, n.key_pair_id, n.end_user_id, n.session_id, n.model_id, n.price_version_id, gateway,
      grants[n.n], counts[n.n]::int8[], n.endpoint
    from json_to_recordset(asked) as n (
      n int, id uuid, project_id uuid, key_pair_id uuid, end_user_id uuid, session_id uuid, model_id text,
      price_version_id int8, endpoint text)
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

revoke execute on function ledger_hold from public;
