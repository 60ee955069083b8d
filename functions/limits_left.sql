-- The least that any budget of a hold has left. Null: it has no budgets.
create or replace function limits_left(counted int8[]) returns int8 language plpgsql stable as $$
begin
  return (select min(s.left_nanos) from limit_states s where s.id = any (counted));
end $$;

revoke execute on function limits_left from public;
