-- Counts a hold in these rows of limit_counts, or what a hold has grown by.
create or replace function limits_hold(counted int8[], granted int8, calls int) returns void language sql as $$
  update limit_counts c set held_nanos = c.held_nanos + granted, open_holds = c.open_holds + calls,
    minute_started_at = date_trunc('minute', now()),
    minute_requests = calls
      + case when c.minute_started_at = date_trunc('minute', now()) then c.minute_requests else 0 end,
    minute_tokens = case when c.minute_started_at = date_trunc('minute', now()) then c.minute_tokens else 0 end
  where c.id = any (counted)
$$;

revoke execute on function limits_hold from public;
