-- Adds two rows of counts place by place; a place that one of them lacks counts as zero, so that a row from before a
-- new outcome or status was counted stays good. The roll-up adds what is new to the counts of an hour or a day with it, row by
-- row: a body in SQL would be planned for each of them.
create or replace function add_counts(a int4[], b int4[]) returns int4[] language plpgsql immutable parallel safe as $$
begin
  return (select array_agg(coalesce(x, 0) + coalesce(y, 0) order by n) from unnest(a, b) with ordinality as t (x, y, n));
end $$;

revoke execute on function add_counts from public;
grant execute on function add_counts to parley_tenant, parley_gateway, parley_console, parley_worker;
