-- Usage, rolled up: what the console's charts and sums are read from, so that a year of them costs as much as a day.
--
-- A worker adds what was settled since `through`, in the transaction that moves `through`: each call is counted once,
-- however often a worker starts again and however late the call was settled. The charges stay the truth; these tables
-- can be emptied (and `through` set back) at any time and fill again by themselves.

create table usage_progress (
  only_row boolean primary key default true check (only_row),
  -- Everything settled up to here is counted, and nothing later. Null: nothing yet.
  through timestamptz
);
insert into usage_progress default values;

-- One row for each hour (and below, each UTC day) in which a key pair called a model at a price. The hour is that of the
-- call's id, as everywhere: what the chart counts in an hour is what the calls log shows for it.
create table usage_hours (
  project_id uuid not null,
  starts_at timestamptz not null,
  model_id text not null,
  key_pair_id uuid not null,
  price_version_id int8 not null,
  calls int8 not null,
  streamed int8 not null,
  input_tokens int8 not null,
  cached_input_tokens int8 not null,
  cache_write_tokens int8 not null,
  output_tokens int8 not null,
  reasoning_tokens int8 not null,
  charged_nanos int8 not null,
  -- The same of those calls only that were charged anything: what the charge consists of.
  billed_calls int8 not null,
  billed_worth_nanos int8 not null,
  billed_input_tokens int8 not null,
  billed_cached_input_tokens int8 not null,
  billed_cache_write_tokens int8 not null,
  billed_output_tokens int8 not null,
  billed_reasoning_tokens int8 not null,
  -- Counts in a fixed order: src/rules/usage-counts.ts says of what.
  outcomes int4[] not null,
  statuses int4[] not null,
  first_tokens int4[] not null,
  durations int4[] not null,
  primary key (project_id, starts_at, model_id, key_pair_id, price_version_id)
) with (fillfactor = 80);

create table usage_days (like usage_hours including all) with (fillfactor = 80);

alter table usage_hours enable row level security;
create policy tenant on usage_hours to parley_tenant using (project_id in (select id from projects));
alter table usage_days enable row level security;
create policy tenant on usage_days to parley_tenant using (project_id in (select id from projects));
grant select on usage_progress, usage_hours, usage_days to parley_tenant;

-- The moment at which a uuid of version 7 was made: the inverse of first_id_of.
create function time_of_id(id uuid) returns timestamptz language sql immutable parallel safe as $$
  select to_timestamp(('x' || substr(id::text, 1, 8) || substr(id::text, 10, 4))::bit(48)::int8 / 1000.0)
$$;

create function add_counts(a int4[], b int4[]) returns int4[] language sql immutable parallel safe as $$
  select array_agg(coalesce(x, 0) + coalesce(y, 0) order by n) from unnest(a, b) with ordinality as t (x, y, n)
$$;

-- The calls log is searched by the id that a caller reads off a response, and by conversation.
create index calls_of_request on calls (request_id);
create index calls_of_conversation on calls (project_id, conversation_id, id) where conversation_id is not null;
