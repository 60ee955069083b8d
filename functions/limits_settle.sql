-- Counts settles, of ledger_settle's form, for the limits of their calls, just before they are settled. A budget is as hard as
-- the wallet: a bill beyond its hold makes the hold grow first, by no more than wallet and budgets have left, and
-- ledger_settle charges no more than the hold.
create or replace function limits_settle(settles json) returns void language plpgsql as $$
declare s record; missing int8;
begin
  for s in
    select h.id, h.project_id, h.counts, x.bill_nanos - h.amount_nanos as overrun
    from json_to_recordset(settles) as x (n int, id uuid, bill_nanos int8) join holds h on h.id = x.id
    where h.counts is not null and x.bill_nanos > h.amount_nanos order by x.n
  loop
    select least(s.overrun, w.balance_nanos - w.held_nanos, limits_left(s.counts)) into missing
      from wallets w where w.project_id = s.project_id;
    if missing > 0 then
      update holds set amount_nanos = amount_nanos + missing where id = s.id;
      update wallets set held_nanos = held_nanos + missing where project_id = s.project_id;
      perform limits_hold(s.counts, missing, 0);
    end if;
  end loop;
  perform limits_spend(json_agg(t)) from (
    select c.id, sum(h.amount_nanos)::int8 as held, count(*)::int as calls,
      sum(least(x.bill_nanos, h.amount_nanos))::int8 as charged,
      sum(x.input_tokens + x.cached_input_tokens + x.cache_write_tokens + x.output_tokens + x.reasoning_tokens) as tokens
    from json_to_recordset(settles) as x (id uuid, bill_nanos int8, input_tokens int8, cached_input_tokens int8,
        cache_write_tokens int8, output_tokens int8, reasoning_tokens int8)
      join holds h on h.id = x.id cross join unnest(h.counts) as c (id)
    group by c.id
  ) t;
end $$;

revoke execute on function limits_settle from public;
