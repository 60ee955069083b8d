-- The advertiser whose rows row security shows this transaction; null in those of publishers. Policies ask the same of
-- tenant_context(), which migrations may call.
create or replace function tenant_advertiser() returns uuid language sql stable as $$ select (tenant_context())[3] $$;

revoke execute on function tenant_advertiser from public;
grant execute on function tenant_advertiser to parley_advertiser;
