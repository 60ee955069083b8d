-- Counts what calls came to: [{id, held, calls, charged, tokens}], id being that of a row of limit_counts, held and calls the
-- holds that are over.
create or replace function limits_spend(settled json) returns void language sql as $$
  update limit_counts c set held_nanos = c.held_nanos - s.held, open_holds = c.open_holds - s.calls,
    minute_started_at = date_trunc('minute', now()),
    minute_requests = case when c.minute_started_at = date_trunc('minute', now()) then c.minute_requests else 0 end,
    minute_tokens = s.tokens
      + case when c.minute_started_at = date_trunc('minute', now()) then c.minute_tokens else 0 end,
    day_started_at = date_trunc('day', now(), 'UTC'),
    day_nanos = s.charged
      + case when c.day_started_at = date_trunc('day', now(), 'UTC') then c.day_nanos else 0 end,
    week_started_at = date_trunc('week', now(), 'UTC'),
    week_nanos = s.charged
      + case when c.week_started_at = date_trunc('week', now(), 'UTC') then c.week_nanos else 0 end,
    month_started_at = date_trunc('month', now(), 'UTC'),
    month_nanos = s.charged
      + case when c.month_started_at = date_trunc('month', now(), 'UTC') then c.month_nanos else 0 end,
    total_nanos = c.total_nanos + s.charged
  from json_to_recordset(settled) as s (id int8, held int8, calls int, charged int8, tokens int8)
  where c.id = s.id
$$;

revoke execute on function limits_spend from public;
