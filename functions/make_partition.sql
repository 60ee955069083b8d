-- Makes the next missing day partition of charges, calls or recommendations and returns its name; null when none is
-- missing, or another process is making them. Two days back, because a gateway's clock may be wrong; at most 60 ahead,
-- whoever asks. Runs with its owner's rights: whoever calls it may not make tables.
--
-- "create table … partition of" locks the parent against everybody, so behind a long reader every call would wait. A
-- table that is made by itself and then attached needs a lock that neither readers nor calls are in the way of, only
-- others who change the table (analyze, another index). Those are not waited for: this fails with lock_not_available,
-- changes nothing, and is tried again minutes later.
--
-- A table of that name that stands by itself is finished instead of made. The worker may read each partition, because the
-- audit reads them by their own names; nobody else has rights on one, and row security is that of the parent in case
-- somebody is ever granted some.
create or replace function make_partition(days_ahead int default 14) returns text language plpgsql security definer
set search_path = public, pg_temp set lock_timeout = '100ms' as $$
declare missing record; policy record;
begin
  if not pg_try_advisory_xact_lock(hashtext('ensure_partitions')) then
    return null;
  end if;
  select p.parent, d.name, d.lower, d.upper into missing
  from unnest(array['charges', 'calls', 'recommendations']) as p (parent),
    generate_series(-2, least(days_ahead, 60)) as offset_days,
    lateral (select (now() at time zone 'utc')::date + offset_days as day) as t,
    lateral (select p.parent || '_' || to_char(t.day, 'YYYYMMDD') as name,
      first_id_of(t.day::timestamp at time zone 'utc') as lower,
      first_id_of((t.day + 1)::timestamp at time zone 'utc') as upper) as d
  where not exists (select from pg_class c where c.oid = to_regclass(d.name) and c.relispartition)
  order by offset_days, p.parent limit 1;
  if not found then
    return null;
  end if;

  if to_regclass(missing.name) is null then
    execute format('create table %I (like %I including all)', missing.name, missing.parent);
  end if;
  execute format('grant select on %I to parley_worker', missing.name);
  if (select relrowsecurity from pg_class where oid = missing.parent::regclass) then
    execute format('alter table %I enable row level security', missing.name);
  end if;
  for policy in
    select p.polname as name, pg_get_expr(p.polqual, p.polrelid) as condition,
      (select string_agg(quote_ident(r.rolname), ', ') from pg_roles r where r.oid = any (p.polroles)) as roles
    from pg_policy p where p.polrelid = missing.parent::regclass
      and not exists (select from pg_policy o where o.polrelid = missing.name::regclass and o.polname = p.polname)
  loop
    execute format('create policy %I on %I to %s using (%s)', policy.name, missing.name, policy.roles, policy.condition);
  end loop;
  -- Attaching believes this constraint and reads no row. Then it goes, or every charge would be checked against it.
  execute format('alter table %I drop constraint if exists ids_of_this_day, add constraint ids_of_this_day check (id >= %L and id < %L)',
    missing.name, missing.lower, missing.upper);
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', missing.parent, missing.name,
    missing.lower, missing.upper);
  execute format('alter table %I drop constraint ids_of_this_day', missing.name);
  return missing.name;
end $$;

revoke execute on function make_partition from public;
grant execute on function make_partition to parley_gateway, parley_worker;
