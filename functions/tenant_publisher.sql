-- The publisher whose rows row security shows this transaction. Policies ask `(select tenant_publisher())`, once for a
-- statement and not once for a row: checking a signature takes time.
create or replace function tenant_publisher() returns uuid language sql stable as $$ select (tenant_context())[1] $$;

revoke execute on function tenant_publisher from public;
grant execute on function tenant_publisher to parley_tenant;
