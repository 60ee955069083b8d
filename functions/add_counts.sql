-- Adds two rows of counts place by place; a place that one of them lacks counts as zero, so that a row from before a
-- new outcome or status was counted stays good. The roll-up adds what is new to the counts of an hour or a day with it.
create or replace function add_counts(a int4[], b int4[]) returns int4[] language sql immutable parallel safe as $$
  select array_agg(coalesce(x, 0) + coalesce(y, 0) order by n) from unnest(a, b) with ordinality as t (x, y, n)
$$;

revoke execute on function add_counts from public;
grant execute on function add_counts to parley_tenant, parley_gateway, parley_console, parley_worker;
