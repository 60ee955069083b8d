-- The project that row security narrows this transaction to. Null: none was named, so that small tables show all
-- projects of the publisher, and large ones nothing. Policies ask `(select tenant_project())`, once for a statement and
-- not once for a row: checking a signature takes time.
create or replace function tenant_project() returns uuid language sql stable as $$ select (tenant_context())[2] $$;

revoke execute on function tenant_project from public;
grant execute on function tenant_project to parley_tenant;
