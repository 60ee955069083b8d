-- The salt of a day, the same for every gateway. A day that is over for longer than two days has none any more and gets none.
create or replace function click_salt(asked date) returns bytea language plpgsql
security definer set search_path = public, pg_temp as $$
declare found bytea;
begin
  select salt into found from click_salts where day = asked;
  if found is null and asked between (now() at time zone 'utc')::date - 1 and (now() at time zone 'utc')::date + 1 then
    insert into click_salts (day, salt) values (asked, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
      on conflict do nothing;
    select salt into found from click_salts where day = asked;
  end if;
  return found;
end $$;

revoke execute on function click_salt from public;
grant execute on function click_salt to parley_gateway;
