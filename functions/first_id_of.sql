-- The smallest uuid of version 7 of a moment: where a day's partition begins. time_of_id is its inverse.
create or replace function first_id_of(moment timestamptz) returns uuid language sql immutable as $$
  select (substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-0000-0000-000000000000')::uuid
  from lpad(to_hex((extract(epoch from moment) * 1000)::int8), 12, '0') as h
$$;

revoke execute on function first_id_of from public;
grant execute on function first_id_of to parley_tenant, parley_gateway, parley_console, parley_worker;
