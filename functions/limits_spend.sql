-- Counts what calls came to, in these rows of limit_counts: what was charged, the hold that is over and the tokens, for each,
-- and a row may come again. A transaction that had to wait may be of an earlier day than the one before it: a day, once begun, never
-- begins again, or what it has seen spent would be forgotten.
create or replace function limits_spend(counted int8[], charged int8[], held int8[], tokens int8[], calls int)
returns void language plpgsql as $$
begin
  -- Once, and not for every row.
  with periods as materialized (
    select date_trunc('minute', now()) as minute, date_trunc('day', now(), 'UTC') as day,
      date_trunc('week', now(), 'UTC') as week, date_trunc('month', now(), 'UTC') as month
  )
  update limit_counts c set held_nanos = c.held_nanos - s.held, open_holds = c.open_holds - s.times * calls,
    minute_started_at = greatest(c.minute_started_at, s.minute),
    minute_requests = case when c.minute_started_at >= s.minute then c.minute_requests else 0 end,
    minute_tokens = s.tokens + case when c.minute_started_at >= s.minute then c.minute_tokens else 0 end,
    day_started_at = greatest(c.day_started_at, s.day),
    day_nanos = s.charged + case when c.day_started_at >= s.day then c.day_nanos else 0 end,
    week_started_at = greatest(c.week_started_at, s.week),
    week_nanos = s.charged + case when c.week_started_at >= s.week then c.week_nanos else 0 end,
    month_started_at = greatest(c.month_started_at, s.month),
    month_nanos = s.charged + case when c.month_started_at >= s.month then c.month_nanos else 0 end,
    total_nanos = c.total_nanos + s.charged
  from (
    select u.id, sum(u.charged)::int8 as charged, coalesce(sum(u.held), 0)::int8 as held,
      coalesce(sum(u.tokens), 0)::int8 as tokens, count(*)::int as times, t.minute, t.day, t.week, t.month
    from unnest(counted, charged, held, tokens) as u (id, charged, held, tokens) cross join periods t
    group by u.id, t.minute, t.day, t.week, t.month
  ) s
  where c.id = s.id;
end $$;

revoke execute on function limits_spend from public;
