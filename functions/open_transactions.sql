-- When the transactions of this database began that may still write: sums and audits stop before the oldest of them. A
-- login sees the times of its own sessions only; the owner, with whose rights this runs, sees those of every login that
-- was granted to it, which parley database logins does. What even the owner may not see is taken to be a minute old:
-- statements of the ledger end after five seconds.
create or replace function open_transactions() returns table (began_at timestamptz, has_written boolean) language sql stable
security definer set search_path = public, pg_temp as $$
  select coalesce(xact_start, now() - interval '1 minute'), backend_xid is not null from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and usesysid is not null
    and (xact_start is not null or backend_xid is not null or backend_xmin is not null)
$$;

revoke execute on function open_transactions from public;
grant execute on function open_transactions to parley_worker;
