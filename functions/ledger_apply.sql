-- THE statement that moves money: one call of it is one transaction and one fsync for a whole micro-batch of settles,
-- extensions and new holds, from src/store/billing/ledger/ledger.ts. project_ids: the distinct projects of everything in it.
--
-- Rules it keeps:
--   1. Wallet rows are locked first and in id order, then what is counted for publishers, so two batches never wait for
--      each other in a circle.
--   2. Settles come before extensions and holds: what they release goes to what is owed first, and can then be granted
--      in the same statement.
--   3. Everything is idempotent by call id: sending a batch again changes nothing and returns the same answers.
--   4. Holds are granted greedily in arrival order; a hold that cannot be granted in full may be granted in part, but
--      never below the minimum that its caller asked for.
--   5. What has no limits pays nothing for them: only wallets that say so are looked at.
--
-- Runs with its owner's rights: the gateway itself may write neither wallets nor charges.
create or replace function ledger_apply(gateway uuid, project_ids uuid[], settles json, extensions json, asked json)
returns setof ledger_answer language plpgsql security definer set search_path = public, pg_temp as $$
declare somebody_owes boolean; somebody_is_limited boolean;
begin
  select bool_or(w.owed_nanos > 0), bool_or(w.has_limits) into somebody_owes, somebody_is_limited from (
    select owed_nanos, has_limits from wallets where project_id = any (project_ids) order by project_id
    for no key update) w;
  if somebody_is_limited then
    perform from limit_counts c where c.scope = 'publisher'
      and c.subject in (select p.publisher_id from projects p where p.id = any (project_ids))
    order by c.id for no key update;
  end if;
  if settles is not null then
    begin
      if somebody_is_limited then perform limits_settle(settles); end if;
      return query select * from ledger_settle(settles);
    exception when unique_violation then
      perform ledger_give_back(settles);
      if somebody_is_limited then perform limits_settle(settles); end if;
      return query select * from ledger_settle(settles);
    end;
    if somebody_owes then
      perform ledger_collect(w.project_id) from wallets w where w.project_id = any (project_ids) and w.owed_nanos > 0;
    end if;
  end if;
  if extensions is not null then
    return query select * from ledger_extend(extensions);
  end if;
  if asked is not null then
    return query select * from ledger_hold(gateway, asked);
  end if;
end $$;

revoke execute on function ledger_apply from public;
grant execute on function ledger_apply to parley_gateway;
