-- How models and providers have answered, of all publishers together: what the status page and the front page are read from.
--
-- Written by the worker's usage roll-up, in the transaction that moves usage_progress.through: each call is counted once. No
-- row says whose calls it counts.

-- One row for each ten minutes in which a model, or a provider, was asked.
create table availability_slots (
  starts_at timestamptz not null,
  kind text not null check (kind in ('model', 'provider')),
  name text not null,
  calls int8 not null,
  failures int8 not null,
  -- One bit of 64 for each publisher that called, and for each whose calls failed, by a digest of its id: enough to tell one
  -- from several, and too little to tell which.
  callers int8 not null,
  failed_for int8 not null,
  -- Counts in a fixed order, as in usage_hours.
  first_tokens int4[] not null,
  primary key (starts_at, kind, name)
) with (fillfactor = 80);

-- Incidents are read from these alone. src/rules/upstreams/availability.ts has the same two numbers.
create index availability_slots_in_trouble on availability_slots (starts_at)
  where calls >= 20 and failures * 10 >= calls;

create table availability_days (
  starts_at timestamptz not null,
  kind text not null check (kind in ('model', 'provider')),
  name text not null,
  calls int8 not null,
  failures int8 not null,
  callers int8 not null,
  failed_for int8 not null,
  primary key (starts_at, kind, name)
) with (fillfactor = 80);

-- What may be told of the installation as a whole, already rounded; null: too little to tell without telling of somebody.
create table public_figures (
  only_row boolean primary key default true check (only_row),
  calls int8,
  first_token_ms int4,
  added_up_at timestamptz not null
);

grant select, insert, update, delete on availability_slots, availability_days to parley_worker;
grant select, insert, update on public_figures to parley_worker;
grant select on availability_slots, availability_days, public_figures, usage_progress to parley_console;

-- The days of models that the usage roll-up has counted so far. Failures are the outcomes after the first three.
insert into availability_days (starts_at, kind, name, calls, failures, callers, failed_for)
select d.starts_at, 'model', d.model_id, sum(d.calls), sum(d.failures), bit_or(d.bit),
  coalesce(bit_or(d.bit) filter (where d.failures > 0), 0)
from projects p cross join lateral (
  select u.starts_at, u.model_id, u.calls, 1::int8 << (hashtextextended(p.publisher_id::text, 0) & 63)::int as bit,
    (select coalesce(sum(n), 0) from unnest(u.outcomes[4:]) as n) as failures
  from usage_days u where u.project_id = p.id and u.starts_at >= now() - interval '90 days') d
group by 1, 3;
