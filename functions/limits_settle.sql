-- Counts settles, of ledger_settle's form, for the limits of their calls, just before they are settled. A budget is as hard as
-- the wallet: a bill beyond its hold makes the hold grow first, by no more than wallet and budgets have left, and
-- ledger_settle charges no more than the hold. Those come last: what the others release of a budget can pay for them.
create or replace function limits_settle(settles json) returns void language plpgsql as $$
declare s record; missing int8; times int[]; counted int8[]; held int8[]; charged int8[]; tokens int8[];
begin
  for s in
    select h.id, h.project_id, h.counts, h.amount_nanos as amount, x.bill_nanos as bill,
      x.input_tokens + x.cached_input_tokens + x.cache_write_tokens + x.output_tokens + x.reasoning_tokens as tokens
    from json_to_recordset(settles) as x (n int, id uuid, bill_nanos int8, input_tokens int8, cached_input_tokens int8,
        cache_write_tokens int8, output_tokens int8, reasoning_tokens int8)
      join holds h on h.id = x.id
    where h.counts is not null order by x.bill_nanos > h.amount_nanos, x.n
  loop
    times := array[cardinality(s.counts)];
    if s.bill > s.amount then
      if counted is not null then
        perform limits_spend(counted, charged, held, tokens, 1);
        counted := null; charged := null; held := null; tokens := null;
      end if;
      select least(s.bill - s.amount, w.balance_nanos - w.held_nanos, limits_left(s.counts)) into missing
        from wallets w where w.project_id = s.project_id;
      if missing > 0 then
        update holds set amount_nanos = amount_nanos + missing where id = s.id;
        update wallets set held_nanos = held_nanos + missing where project_id = s.project_id;
        perform limits_hold(s.counts, array_fill(missing, times), 0);
        s.amount := s.amount + missing;
      end if;
    end if;
    counted := counted || s.counts;
    held := held || array_fill(s.amount, times);
    charged := charged || array_fill(least(s.bill, s.amount), times);
    tokens := tokens || array_fill(s.tokens, times);
  end loop;
  if counted is not null then
    perform limits_spend(counted, charged, held, tokens, 1);
  end if;
end $$;

revoke execute on function limits_settle from public;
