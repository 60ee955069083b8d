-- Settles: [{n, id, project_id, bill_nanos, usage_nanos, …}]; bill_nanos is what the rules want charged, usage_nanos
-- what the tokens are worth. The bill is paid from the call's own hold and then, for an overrun, from what is
-- available.
-- Whoever deletes the hold settles the call, so that a resent batch, a sweeper and a gateway that wakes up late can
-- never charge twice. The result of an idempotency key is stored in the same statement: there is never a charge without
-- it. Reports of usage that cannot be right are kept beside it. Where another model answered than the one that was asked
-- for, answered_model_id and answered_price_version_id are what the call is charged as. Whoever settles for a gateway that died
-- does not know the endpoint: then it is the one that the hold was made for.
create or replace function ledger_settle(settles json) returns setof ledger_answer language plpgsql as $$
#variable_conflict use_column
declare settled int;
begin
  return query with asked as (
    select * from json_to_recordset(settles) as s (
      n int, id uuid, bill_nanos int8, usage_nanos int8, input_tokens int, cached_input_tokens int,
      cache_write_tokens int, output_tokens int, reasoning_tokens int, usage_source text, outcome text,
      deployment_id uuid, conversation_id text, request_id text, streamed boolean, status int2, finish_reason text,
      error_code text, first_token_ms int, duration_ms int, attempts json, has_key boolean, result text, anomalies text[], provider text, reported json,
      endpoint text, answered_model_id text, answered_price_version_id int8, recommendation_outcome text)
  ), closed as (
    -- Returns both sides, so that nothing below has to join them again: with a whole batch that would be quadratic.
    delete from holds h using asked s where h.id = s.id
    returning s.*, h.project_id, h.key_pair_id, coalesce(s.answered_model_id, h.model_id) as model_id,
      coalesce(s.answered_price_version_id, h.price_version_id) as price_version_id, h.gateway_id, h.amount_nanos as held,
      h.held_at, h.end_user_id, h.session_id, h.endpoint as held_endpoint, least(s.bill_nanos, h.amount_nanos) as within,
      -- Where there are limits, the hold has grown already by as much as they leave.
      case when h.counts is null then greatest(s.bill_nanos - h.amount_nanos, 0) else 0 end as overrun
  ), sized as (
    select c.*,
      sum(c.held - c.within) over (partition by c.project_id) as released,
      -- The sum that earlier overruns of this batch take from the same wallet before this one.
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
      status, outcome, finish_reason, error_code, first_token_ms, duration_ms, attempts, created_at, end_user_id,
      endpoint, session_id, recommendation_outcome)
    select p.id, p.project_id, p.key_pair_id, p.model_id, p.deployment_id, p.conversation_id, p.request_id, p.streamed,
      p.status, p.outcome, p.finish_reason, p.error_code, p.first_token_ms, p.duration_ms, p.attempts, p.held_at,
      p.end_user_id, coalesce(p.endpoint, p.held_endpoint), p.session_id, p.recommendation_outcome
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

revoke execute on function ledger_settle from public;
