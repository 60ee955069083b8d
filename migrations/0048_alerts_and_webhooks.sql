-- Alerts of a project, and the endpoints of publishers that are told of them and of other events.

-- What a project has chosen; a rule without a row is as src/rules/alerts.ts says.
create table alert_rules (
  project_id uuid not null references projects,
  kind text not null check (length(kind) between 1 and 50),
  enabled boolean not null,
  -- Percent, a multiple or nanos, by the kind. Null: as the rule says.
  threshold int8 check (threshold > 0),
  primary key (project_id, kind)
);

create table alerts (
  -- A uuid of version 7.
  id uuid primary key,
  project_id uuid not null references projects,
  kind text not null check (length(kind) between 1 and 50),
  -- Which model, budget or domain. Empty: the project itself.
  subject text not null check (length(subject) <= 300),
  -- Numbers and names of when it opened; never what somebody said.
  facts json not null,
  opened_at timestamptz not null default now(),
  closed_at timestamptz,
  -- False for one that opened again soon after it was over: it is listed, and nobody hears of it.
  told boolean not null default true,
  -- When people were written to: of its beginning, of its end. There is a limit for a day.
  mailed_at timestamptz[] not null default '{}'
);
-- One of each at a time: two workers that see the same trouble open one alert.
create unique index alerts_open on alerts (project_id, kind, subject) where closed_at is null;
create index alerts_of_project on alerts (project_id, id);
create index alerts_of_subject on alerts (project_id, kind, subject, opened_at);
create index alerts_closed_at on alerts (closed_at) where closed_at is not null;

create table webhook_endpoints (
  id uuid primary key,
  project_id uuid not null references projects,
  url text not null check (length(url) <= 500),
  event_types text[] not null check (cardinality(event_types) between 1 and 50),
  sealed_secret text not null,
  -- The one before signs beside it until then.
  old_sealed_secret text,
  old_secret_ends_at timestamptz,
  enabled boolean not null default true,
  -- Null while it is on.
  off_because text check (off_because in ('asked', 'failing')),
  -- Since the first delivery that failed after one that went well.
  failing_since timestamptz,
  created_at timestamptz not null default now(),
  constraint off_for_a_reason check (enabled = (off_because is null)),
  constraint an_old_secret_ends check ((old_sealed_secret is null) = (old_secret_ends_at is null))
);
create index webhook_endpoints_of_project on webhook_endpoints (project_id);

-- Written in the transaction of what they tell of, if any endpoint wants to know.
create table webhook_events (
  -- A uuid of version 7.
  id uuid primary key,
  project_id uuid not null references projects,
  type text not null check (length(type) between 1 and 50),
  -- Exactly what is sent and signed: every try has the same bytes.
  body text not null check (length(body) <= 10000),
  created_at timestamptz not null default now()
);
create index webhook_events_of_project on webhook_events (project_id);

create table webhook_deliveries (
  id uuid primary key,
  -- The order in which those of one object go to one endpoint. What is sent again goes to the end.
  seq int8 generated always as identity,
  event_id uuid not null references webhook_events on delete cascade,
  endpoint_id uuid not null references webhook_endpoints on delete cascade,
  project_id uuid not null references projects,
  -- What the event is about: a key pair, a wallet, an alert.
  object_key text not null check (length(object_key) between 1 and 200),
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts int not null default 0,
  next_attempt_at timestamptz not null default now(),
  gives_up_at timestamptz not null,
  -- Until then a worker has it.
  leased_until timestamptz,
  last_attempt_at timestamptz,
  last_status int2,
  last_error text check (length(last_error) <= 100)
) with (fillfactor = 80);
create index webhook_deliveries_waiting on webhook_deliveries (endpoint_id, object_key, seq) where state = 'pending';
create index webhook_deliveries_due on webhook_deliveries (next_attempt_at) where state = 'pending';
create index webhook_deliveries_of_endpoint on webhook_deliveries (endpoint_id, seq);
create index webhook_deliveries_of_event on webhook_deliveries (event_id);

do $$
declare name text;
begin
  foreach name in array array['alert_rules', 'alerts', 'webhook_endpoints', 'webhook_events', 'webhook_deliveries'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy tenant on %I to parley_tenant using (project_id = (select tenant_project()))', name);
    execute format('create policy planes on %I to parley_gateway, parley_console, parley_worker, parley_matcher using (true)',
      name);
  end loop;
end $$;

grant select, insert, update, delete on alert_rules, webhook_endpoints to parley_tenant;
grant select, insert, update (closed_at, mailed_at), delete on alerts to parley_tenant;
grant select, insert, delete on webhook_events to parley_tenant;
grant select, insert, update (seq, state, attempts, next_attempt_at, gives_up_at, leased_until) on webhook_deliveries
  to parley_tenant;

-- A payment becomes credit in a transaction of no tenant.
grant select (id, project_id, enabled, event_types) on webhook_endpoints to parley_console;
grant select (endpoint_id, state) on webhook_deliveries to parley_console;
grant insert on webhook_events, webhook_deliveries to parley_console, parley_worker;

grant select on alert_rules, webhook_endpoints, webhook_events to parley_worker;
grant select, delete on alerts to parley_worker;
grant update (failing_since, old_sealed_secret, old_secret_ends_at) on webhook_endpoints to parley_worker;
grant delete on webhook_events to parley_worker;
grant select, update (state, attempts, next_attempt_at, leased_until, last_attempt_at, last_status, last_error)
  on webhook_deliveries to parley_worker;
-- What alerts are judged by, beside what the worker adds up itself.
grant select on limit_states to parley_worker;
grant select (id, name, deleted_at) on key_pairs to parley_worker;
grant select (model_id, provider_id, enabled) on deployments to parley_worker;
grant select (id, name) on providers to parley_worker;
