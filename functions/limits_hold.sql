-- Counts holds, or what they have grown by, in these rows of limit_counts: one amount for each, and a row may come again.
-- Not in SQL, like whatever a batch of the ledger calls: such a body would be planned anew for every batch.
create or replace function limits_hold(counted int8[], granted int8[], calls int) returns void language plpgsql as $$
begin
  update limit_counts c set held_nanos = c.held_nanos + t.granted, open_holds = c.open_holds + t.times * calls,
    minute_started_at = greatest(c.minute_started_at, date_trunc('minute', now())),
    minute_requests = t.times * calls
      + case when c.minute_started_at >= date_trunc('minute', now()) then c.minute_requests else 0 end,
    minute_tokens = case when c.minute_started_at >= date_trunc('minute', now()) then c.minute_tokens else 0 end
  from (
    select u.id, sum(u.granted)::int8 as granted, count(*)::int as times from unnest(counted, granted) as u (id, granted)
    group by u.id
  ) t
  where c.id = t.id;
end $$;

revoke execute on function limits_hold from public;
