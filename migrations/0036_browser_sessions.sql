-- Short-lived secrets for browsers (POST /v1/sessions). Each takes the place of its pair's secret key for an hour at most, on
-- pages of the project's verified domain. The table `sessions` is another matter: people in the console.
create table browser_sessions (
  id uuid primary key,
  project_id uuid not null references projects,
  key_pair_id uuid not null references key_pairs,
  -- As of key pairs: HMAC-SHA-256 under the server secret numbered secret_version. The secret itself is stored nowhere.
  secret_digest bytea not null unique check (length(secret_digest) = 32),
  secret_version int2 not null,
  secret_last4 text not null,
  -- Whom its calls are for, as a keyed digest. Null: nobody, whatever the browser says.
  end_user_id uuid,
  -- Null: all that the project may use.
  models text[] check (cardinality(models) > 0),
  -- The most that a call may ask for.
  max_tokens int check (max_tokens > 0),
  -- Null: every https origin of the verified domain, without a port.
  origins text[] check (cardinality(origins) > 0),
  calls_max int not null check (calls_max > 0),
  -- Counted by the ledger, under the lock of the wallet. Its money is a budget: `limits` and `limit_counts` of its id.
  calls_made int not null default 0,
  created_at timestamptz not null default now(),
  -- Ending one brings this forward.
  expires_at timestamptz not null,
  constraint calls_within_its_own check (calls_made <= calls_max),
  constraint an_hour_at_most check (expires_at <= created_at + interval '1 hour')
) with (fillfactor = 70);
create index browser_sessions_of_pair on browser_sessions (key_pair_id, expires_at);
create index browser_sessions_expires_at on browser_sessions (expires_at);

-- Not checked for the rows that are there: each satisfies the narrower check that this one replaces.
alter table limits drop constraint limits_scope_check, add constraint limits_scope_check
  check (scope in ('publisher', 'project', 'key_pair', 'end_users', 'end_user', 'session')) not valid;
alter table limit_counts drop constraint limit_counts_scope_check, add constraint limit_counts_scope_check
  check (scope in ('publisher', 'project', 'key_pair', 'end_user', 'session')) not valid;

alter table holds add column session_id uuid;
alter table calls add column session_id uuid;

alter table browser_sessions enable row level security;
create policy tenant on browser_sessions to parley_tenant using (project_id = (select tenant_project()));
create policy planes on browser_sessions to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
grant select on browser_sessions to parley_gateway;
grant select (id, project_id, key_pair_id, secret_last4, end_user_id, models, max_tokens, origins, calls_max, calls_made,
  created_at, expires_at), update (expires_at) on browser_sessions to parley_tenant;
grant select (project_id, expires_at) on browser_sessions to parley_worker;
-- Where a session may be used from.
grant select (name) on domains to parley_gateway;
