-- Makes missing day partitions. Called by migrations, gateways and workers, well ahead: an insert without a partition
-- would refuse every call. Two days back, because a gateway's clock may be wrong; at most 60 ahead, whoever asks.
-- Runs with its owner's rights: whoever calls it may not make tables. The audit reads partitions by their own names, so
-- the worker may read each.
create or replace function ensure_partitions(days_ahead int default 14) returns int language plpgsql security definer
set search_path = public, pg_temp as $$
declare parent text; day date; name text; made int := 0;
begin
  perform pg_advisory_xact_lock(hashtext('ensure_partitions'));
  foreach parent in array array['charges', 'calls', 'recommendations'] loop
    for offset_days in -2..least(days_ahead, 60) loop
      day := (now() at time zone 'utc')::date + offset_days;
      name := parent || '_' || to_char(day, 'YYYYMMDD');
      continue when to_regclass(name) is not null;
      execute format('create table %I partition of %I for values from (%L) to (%L)', name, parent,
        first_id_of(day::timestamp at time zone 'utc'), first_id_of((day + 1)::timestamp at time zone 'utc'));
      execute format('grant select on %I to parley_worker', name);
      made := made + 1;
    end loop;
  end loop;
  return made;
end $$;

revoke execute on function ensure_partitions from public;
grant execute on function ensure_partitions to parley_gateway, parley_worker;
