-- Decides what the limits of a call allow it, given what is counted for them; counts nothing itself. All that is counted for a
-- project's calls changes under the lock of its wallet, and what is counted for its publisher is locked by ledger_apply.
create or replace function limits_check(applying limit_states[], want int8, min int8) returns limits_verdict
language plpgsql as $$
declare l limit_states; tightest limit_states; v limits_verdict; used_up text;
begin
  foreach l in array coalesce(applying, '{}') loop
    v.counts := v.counts || l.id;
    if l.requests_per_minute is not null or l.tokens_per_minute is not null then
      v.rates := rates_tightest(v.rates, l.requests_per_minute, l.minute_requests, l.tokens_per_minute, l.minute_tokens);
    end if;
    if l.left_nanos < tightest.left_nanos or tightest.left_nanos is null then
      tightest := l;
    end if;
    used_up := case when l.minute_requests >= l.requests_per_minute then 'requests'
      when l.minute_tokens >= l.tokens_per_minute then 'tokens' when l.open_holds >= l.concurrent_calls then 'calls' end;
    if v.refusal is null and used_up is not null then
      v.refusal := case used_up when 'calls' then 'concurrency_limited' else 'rate_limited' end;
      v.limited_by := l.scope || ':' || used_up;
    end if;
  end loop;
  v.granted := least(want, tightest.left_nanos);
  if v.refusal is null and v.granted < greatest(min, 1) then
    v.refusal := case
      when tightest.left_nanos + tightest.held_nanos >= greatest(min, 1) then 'budget_held' else 'budget_used_up' end;
    v.limited_by := tightest.scope || ':' || tightest.tightest_budget;
  end if;
  return v;
end $$;

revoke execute on function limits_check from public;
