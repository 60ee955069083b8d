-- Makes all missing day partitions (make_partition) in one transaction and returns how many it made. For the version
-- before: this one calls make_partition for each, in a transaction of its own. What others are in the way of is left for
-- the next time.
create or replace function ensure_partitions(days_ahead int default 14) returns int language plpgsql security definer
set search_path = public, pg_temp as $$
declare made int := 0;
begin
  loop
    begin
      exit when make_partition(days_ahead) is null;
      made := made + 1;
    exception when lock_not_available then
      exit;
    end;
  end loop;
  return made;
end $$;

revoke execute on function ensure_partitions from public;
grant execute on function ensure_partitions to parley_gateway, parley_worker;
