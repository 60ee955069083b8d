-- The moment at which a uuid of version 7 was made: the inverse of first_id_of.
create or replace function time_of_id(id uuid) returns timestamptz language sql immutable parallel safe as $$
  select to_timestamp(('x' || substr(id::text, 1, 8) || substr(id::text, 10, 4))::bit(48)::int8 / 1000.0)
$$;

revoke execute on function time_of_id from public;
grant execute on function time_of_id to parley_tenant, parley_gateway, parley_console, parley_worker;
