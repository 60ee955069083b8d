-- Limits and money budgets below the wallet: of a publisher, a project, a key pair, every end user of a project, and one
-- end user. Their definitions are few and change seldom; what is counted for them changes with every call. Publishers set
-- them; what the operator allows a project at most is in projects, and counted in the wallet's row.

create table limits (
  scope text not null check (scope in ('publisher', 'project', 'key_pair', 'end_users', 'end_user')),
  -- The id of the publisher, project, key pair (what it is counted as) or end user. Of end_users: the project's.
  subject uuid not null,
  publisher_id uuid not null references publishers,
  project_id uuid references projects,
  -- Null: no such limit. For one end user: what holds for every end user of the project.
  requests_per_minute int check (requests_per_minute > 0),
  tokens_per_minute int8 check (tokens_per_minute > 0),
  concurrent_calls int check (concurrent_calls > 0),
  day_nanos int8 check (day_nanos >= 0),
  week_nanos int8 check (week_nanos >= 0),
  month_nanos int8 check (month_nanos >= 0),
  total_nanos int8 check (total_nanos >= 0),
  primary key (scope, subject),
  constraint project_of_all_but_publishers check ((project_id is null) = (scope = 'publisher'))
);
create index limits_of_publisher on limits (publisher_id);
create index limits_of_project on limits (project_id);

-- What the calls of a publisher, project, key pair or end user come to. Days, weeks and months are those of UTC. No index on
-- what changes, and half-empty pages, so that updates stay heap-only.
create table limit_counts (
  id int8 generated always as identity primary key,
  scope text not null check (scope in ('publisher', 'project', 'key_pair', 'end_user')),
  subject uuid not null,
  project_id uuid,
  held_nanos int8 not null default 0 check (held_nanos >= 0),
  open_holds int not null default 0 check (open_holds >= 0),
  minute_started_at timestamptz not null default '-infinity',
  minute_requests int not null default 0,
  minute_tokens int8 not null default 0,
  day_started_at timestamptz not null default '-infinity',
  day_nanos int8 not null default 0,
  week_started_at timestamptz not null default '-infinity',
  week_nanos int8 not null default 0,
  month_started_at timestamptz not null default '-infinity',
  month_nanos int8 not null default 0,
  total_nanos int8 not null default 0,
  unique (scope, subject)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index limit_counts_of_project on limit_counts (project_id);

-- What is counted, as of now, beside the limits that hold for it: what the tightest budget has left, and which that is. When
-- periods began is selected, so that it is computed once and not a dozen times for every row.
create view limit_states with (security_invoker = true) as
  select s.*,
    least(day_nanos - day_spent, week_nanos - week_spent, month_nanos - month_spent, total_nanos - total_spent)
      - held_nanos as left_nanos,
    case least(day_nanos - day_spent, week_nanos - week_spent, month_nanos - month_spent, total_nanos - total_spent)
      when day_nanos - day_spent then 'day' when week_nanos - week_spent then 'week'
      when month_nanos - month_spent then 'month' when total_nanos - total_spent then 'total' end as tightest_budget
  from (
    select c.id, c.scope, c.subject, c.project_id,
      coalesce(own.requests_per_minute, everyone.requests_per_minute) as requests_per_minute,
      coalesce(own.tokens_per_minute, everyone.tokens_per_minute) as tokens_per_minute,
      coalesce(own.concurrent_calls, everyone.concurrent_calls) as concurrent_calls,
      coalesce(own.day_nanos, everyone.day_nanos) as day_nanos,
      coalesce(own.week_nanos, everyone.week_nanos) as week_nanos,
      coalesce(own.month_nanos, everyone.month_nanos) as month_nanos,
      coalesce(own.total_nanos, everyone.total_nanos) as total_nanos,
      c.held_nanos, c.open_holds,
      case when c.minute_started_at >= (select date_trunc('minute', now())) then c.minute_requests else 0 end as minute_requests,
      case when c.minute_started_at >= (select date_trunc('minute', now())) then c.minute_tokens else 0 end as minute_tokens,
      case when c.day_started_at >= (select date_trunc('day', now(), 'UTC')) then c.day_nanos else 0 end as day_spent,
      case when c.week_started_at >= (select date_trunc('week', now(), 'UTC')) then c.week_nanos else 0 end
        as week_spent,
      case when c.month_started_at >= (select date_trunc('month', now(), 'UTC')) then c.month_nanos else 0 end
        as month_spent,
      c.total_nanos as total_spent
    from limit_counts c
      left join limits own on own.scope = c.scope and own.subject = c.subject
      left join limits everyone on c.scope = 'end_user' and everyone.scope = 'end_users' and everyone.subject = c.project_id
  ) s;

-- Whom the publisher's app calls for. The id is a keyed digest of the publisher's own id for them; a name is kept only if the
-- publisher sends one.
create table end_users (
  project_id uuid not null references projects,
  id uuid not null,
  label text check (length(label) between 1 and 200),
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  primary key (project_id, id)
) with (fillfactor = 80);
create index end_users_last_seen on end_users (project_id, last_seen_at);

-- What each end user's calls came to, by day of UTC: written by the worker's roll-up, like usage_days.
create table end_user_days (
  project_id uuid not null,
  end_user_id uuid not null,
  starts_at timestamptz not null,
  calls int8 not null,
  tokens int8 not null,
  charged_nanos int8 not null,
  primary key (project_id, end_user_id, starts_at)
) with (fillfactor = 80);
create index end_user_days_starts_at on end_user_days (starts_at);

-- A pair that took the place of another is counted as that one, so that rolling a pair gives it no second budget.
alter table key_pairs add column counted_as uuid; -- null: as itself
create index key_pairs_counted_as on key_pairs (counted_as) where counted_as is not null;

-- True: some limit holds for calls of this project, so the ledger looks for it.
alter table wallets add column has_limits boolean not null default false;
alter table holds add column end_user_id uuid, add column counts int8[];
alter table calls add column end_user_id uuid;

-- What the limits of a call allow it: of what it wants, as much as every budget has left; which rows of limit_counts it is
-- counted in.
create type limits_verdict as (granted int8, refusal text, limited_by text, counts int8[], rates int8[]);

alter table limits enable row level security;
create policy tenant on limits to parley_tenant using (publisher_id = (select tenant_publisher())
  and ((select tenant_project()) is null or project_id is null or project_id = (select tenant_project())));
alter table limit_counts enable row level security;
create policy tenant on limit_counts to parley_tenant using (
  project_id = (select tenant_project()) or (scope = 'publisher' and subject = (select tenant_publisher())));
alter table end_users enable row level security;
create policy tenant on end_users to parley_tenant using (project_id = (select tenant_project()));
alter table end_user_days enable row level security;
create policy tenant on end_user_days to parley_tenant using (project_id = (select tenant_project()));
do $$
declare name text;
begin
  foreach name in array array['limits', 'limit_counts', 'end_users', 'end_user_days'] loop
    execute format('create policy planes on %I to parley_gateway, parley_console, parley_worker, parley_matcher using (true)',
      name);
  end loop;
end $$;
grant insert (has_limits) on wallets to parley_tenant;
grant select on limits, limit_counts, limit_states, end_users, end_user_days to parley_tenant;
grant select on limits, limit_counts, limit_states to parley_gateway;
grant select (held_nanos, open_holds, minute_started_at, minute_requests, minute_tokens) on wallets to parley_gateway;
grant select, insert, update (label, last_seen_at) on end_users to parley_gateway;
grant select, delete on end_users, end_user_days to parley_tenant, parley_worker;
grant select on limits, limit_counts to parley_worker;
grant select, insert, update on end_user_days to parley_worker;
