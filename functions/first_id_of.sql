-- The smallest uuid of version 7 of a moment: where a day's partition begins. time_of_id is its inverse.
-- One expression, and immutable in all that it calls: so it becomes part of whatever calls it. Every batch of holds asks twice, and
-- a function of its own would be planned anew each time, which takes longer than a lookup in a table.
create or replace function first_id_of(moment timestamptz) returns uuid language sql immutable as $$
  select rpad(
    lpad(to_hex((extract(epoch from moment - timestamptz '1970-01-01 00:00:00+00') * 1000)::int8), 12, '0'), 32, '0')::uuid
$$;

revoke execute on function first_id_of from public;
grant execute on function first_id_of to parley_tenant, parley_gateway, parley_console, parley_worker;
