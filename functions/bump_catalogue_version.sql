-- Every change to what gateways route by raises this one number, which they poll instead of reading the whole catalogue
-- again, and tells those that listen, so that they follow within milliseconds.
create or replace function bump_catalogue_version() returns trigger language plpgsql as $$
begin
  update catalogue_version set version = version + 1;
  notify parley_catalogue;
  return null;
end $$;

revoke execute on function bump_catalogue_version from public;
