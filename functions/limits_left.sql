-- What the budgets of a hold have left. Null: it has none.
create or replace function limits_left(counted int8[]) returns int8 language sql stable as $$
  select min(s.left_nanos) from limit_states s where s.id = any (counted)
$$;

revoke execute on function limits_left from public;
