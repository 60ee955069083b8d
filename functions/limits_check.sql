-- What the limits of a call allow it; nothing is counted yet. Needs the lock of the project's wallet, under which everything
-- changes that is counted for its calls; what is counted for its publisher is locked by ledger_apply. An end user is counted
-- from the first call for which there is a limit.
create or replace function limits_check(publisher uuid, project uuid, key_pair uuid, end_user uuid, want int8, min int8)
returns limits_verdict language plpgsql as $$
declare l limit_states; tightest limit_states; v limits_verdict;
begin
  if end_user is not null
    and not exists (select from limit_counts c where c.scope = 'end_user' and c.subject = end_user) then
    insert into limit_counts (scope, subject, project_id) select 'end_user', end_user, project
    where exists (select from limits d where (d.scope, d.subject) in (('end_users', project), ('end_user', end_user)));
  end if;
  for l in
    select * from limit_states s where (s.scope, s.subject) in
      (('publisher', publisher), ('project', project), ('key_pair', key_pair), ('end_user', end_user))
  loop
    v.counts := v.counts || l.id;
    if l.requests_per_minute is not null or l.tokens_per_minute is not null then
      v.rates := rates_tightest(v.rates, l.requests_per_minute, l.minute_requests, l.tokens_per_minute, l.minute_tokens);
    end if;
    if l.left_nanos < tightest.left_nanos or tightest.left_nanos is null then
      tightest := l;
    end if;
    if v.refusal is null and l.used_up_rate is not null then
      v.refusal := case l.used_up_rate when 'calls' then 'concurrency_limited' else 'rate_limited' end;
      v.limited_by := l.scope || ':' || l.used_up_rate;
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
