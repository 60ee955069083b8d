-- The ledger: how a call is paid for. docs/billing.md says it for publishers, docs/architecture.md draws it.
--
--   balance_nanos   what the wallet owns              held_nanos   what running calls have set aside
--   available       balance_nanos - held_nanos, never below zero: the CHECK below, not the code, is the guarantee
--
-- A hold exists exactly while its call runs. Settling a call MOVES its row: delete from holds, insert into charges.
-- Whoever deletes the hold settles the call, so a resent batch, a sweeper and a gateway that wakes up late can never
-- charge twice; and because only open holds are in the table, "held = sum of open holds" is a sum over a small table.

create table accounts (
  id uuid primary key,
  kind text not null check (kind in
    ('wallet', 'revenue', 'cash', 'promotion', 'ad_revenue', 'refunds', 'absorbed', 'breakage', 'adjustment')),
  project_id uuid unique references projects,
  created_at timestamptz not null default now(),
  check ((kind = 'wallet') = (project_id is not null)),
  -- A wallet's account carries its project's id, so that money rows name the project without a join.
  check (project_id is null or id = project_id)
);
insert into accounts (id, kind) values
  ('00000000-0000-0000-0000-000000000001', 'revenue'),
  ('00000000-0000-0000-0000-000000000002', 'cash'),
  ('00000000-0000-0000-0000-000000000003', 'promotion'),
  ('00000000-0000-0000-0000-000000000004', 'ad_revenue'),
  ('00000000-0000-0000-0000-000000000005', 'refunds'),
  ('00000000-0000-0000-0000-000000000006', 'absorbed'),
  ('00000000-0000-0000-0000-000000000007', 'breakage'),
  ('00000000-0000-0000-0000-000000000008', 'adjustment');

-- The only hot row. No index on a mutable column and half-empty pages, so that its updates stay heap-only.
create table wallets (
  project_id uuid primary key references projects,
  balance_nanos int8 not null default 0,
  held_nanos int8 not null default 0,
  open_holds int not null default 0,
  -- The project's use in the minute that began at minute_started_at, for its limits.
  minute_started_at timestamptz not null default '-infinity',
  minute_requests int not null default 0,
  minute_tokens int8 not null default 0,
  constraint held_is_not_negative check (held_nanos >= 0 and open_holds >= 0),
  constraint no_overdraft check (balance_nanos - held_nanos >= 0)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

create table gateways (
  id uuid primary key,
  started_at timestamptz not null default now(),
  beat_at timestamptz not null default now()
);

-- Open holds only. No foreign keys here nor on charges: checking them would lock the hot wallet row a second time per call.
create table holds (
  id uuid primary key, -- the call's id
  project_id uuid not null,
  key_pair_id uuid not null,
  model_id text not null,
  price_version_id int8 not null,
  gateway_id uuid not null,
  amount_nanos int8 not null check (amount_nanos > 0),
  extension int2 not null default 0, -- how many times the hold was extended
  held_at timestamptz not null default now()
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- One row per call that held credit, whatever became of it. "At most one charge per call" is this primary key.
-- Ids are uuid version 7, so ranges of ids are ranges of time and day partitions need no second key column.
create table charges (
  id uuid not null primary key,
  project_id uuid not null,
  key_pair_id uuid not null,
  model_id text not null,
  price_version_id int8 not null,
  gateway_id uuid not null,
  held_nanos int8 not null check (held_nanos > 0),
  -- What the tokens are worth at the frozen price, charged or not: usage_nanos - charged_nanos is the operator's loss.
  usage_nanos int8 not null check (usage_nanos >= 0),
  charged_nanos int8 not null check (charged_nanos >= 0),
  input_tokens int not null check (input_tokens >= 0),
  cached_input_tokens int not null check (cached_input_tokens >= 0),
  cache_write_tokens int not null check (cache_write_tokens >= 0),
  output_tokens int not null check (output_tokens >= 0),
  reasoning_tokens int not null check (reasoning_tokens >= 0),
  usage_source text not null check (usage_source in ('reported', 'estimated', 'none')),
  outcome text not null check (outcome in
    ('completed', 'hung_up', 'hold_used_up', 'upstream_failed', 'truncated', 'timed_out', 'gateway_failed', 'gateway_died')),
  held_at timestamptz not null,
  settled_at timestamptz not null default now(),
  constraint never_more_than_used check (charged_nanos <= usage_nanos),
  constraint only_these_outcomes_are_charged
    check (charged_nanos = 0 or outcome in ('completed', 'hung_up', 'hold_used_up'))
) partition by range (id);
create index charges_of_project on charges (project_id, id);
create trigger charges_append_only before update or delete on charges for each row execute function forbid_change();

-- What a call looked like from outside: for people and analytics. Never text, never keys.
create table calls (
  id uuid not null primary key,
  project_id uuid not null,
  key_pair_id uuid not null,
  model_id text not null,
  deployment_id uuid,
  conversation_id text,
  request_id text not null,
  streamed boolean not null,
  status int2 not null,
  outcome text not null,
  finish_reason text,
  error_code text,
  first_token_ms int,
  duration_ms int not null,
  attempts json not null,
  created_at timestamptz not null default now()
) partition by range (id);
create index calls_of_project on calls (project_id, id);
create trigger calls_append_only before update or delete on calls for each row execute function forbid_change();

-- Every other movement of money. Balanced by construction: one amount, one debit, one credit.
create table transfers (
  id uuid primary key,
  debit_account uuid not null references accounts,
  credit_account uuid not null references accounts,
  amount_nanos int8 not null check (amount_nanos > 0),
  kind text not null check (kind in ('topup', 'grant', 'ad_revenue', 'refund', 'chargeback', 'expiry', 'adjustment',
    'reversal', 'late_charge', 'absorbed')),
  -- What makes a replay a no-op, for example 'stripe:pi_123' or 'late:<call id>'.
  reference text not null unique check (length(reference) between 1 and 255),
  reason text check (length(reason) <= 500),
  corrects uuid,
  created_at timestamptz not null default now(),
  check (debit_account <> credit_account)
);
create index transfers_debited on transfers (debit_account, id);
create index transfers_credited on transfers (credit_account, id);
create trigger transfers_append_only before update or delete on transfers for each row execute function forbid_change();

-- One line per side of every movement; sums to zero.
create view journal as
  select id, project_id as account_id, -charged_nanos as delta_nanos, 'charge' as kind, settled_at as created_at
    from charges where charged_nanos > 0
  union all
  select id, '00000000-0000-0000-0000-000000000001', charged_nanos, 'charge', settled_at
    from charges where charged_nanos > 0
  union all
  select id, debit_account, -amount_nanos, kind, created_at from transfers
  union all
  select id, credit_account, amount_nanos, kind, created_at from transfers;

-- The smallest uuid version 7 of a moment: where a day's partition begins.
create function first_id_of(moment timestamptz) returns uuid language sql immutable as $$
  select (substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-0000-0000-000000000000')::uuid
  from lpad(to_hex((extract(epoch from moment) * 1000)::int8), 12, '0') as h
$$;

-- Creates missing day partitions. Called by migrations, gateways and workers, well ahead: an insert without a partition
-- would refuse every call. Two days back, because a gateway's clock may be wrong.
create function ensure_partitions(days_ahead int default 14) returns int language plpgsql as $$
declare parent text; day date; name text; made int := 0;
begin
  perform pg_advisory_xact_lock(hashtext('ensure_partitions'));
  foreach parent in array array['charges', 'calls'] loop
    for offset_days in -2..days_ahead loop
      day := (now() at time zone 'utc')::date + offset_days;
      name := parent || '_' || to_char(day, 'YYYYMMDD');
      continue when to_regclass(name) is not null;
      execute format('create table %I partition of %I for values from (%L) to (%L)', name, parent,
        first_id_of(day::timestamp at time zone 'utc'), first_id_of((day + 1)::timestamp at time zone 'utc'));
      made := made + 1;
    end loop;
  end loop;
  return made;
end $$;
select ensure_partitions();
