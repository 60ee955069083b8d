-- Returns those of the projects whose wallet no other transaction has locked at this moment. A gateway whose statement waited
-- too long asks this, to go on without the others.
-- Runs with its owner's rights: the gateway itself may not lock wallets.
create or replace function ledger_free_wallets(project_ids uuid[]) returns setof uuid language sql
security definer set search_path = public, pg_temp as $$
  select project_id from wallets where project_id = any (project_ids) for no key update skip locked
$$;

revoke execute on function ledger_free_wallets from public;
grant execute on function ledger_free_wallets to parley_gateway;
