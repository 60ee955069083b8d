-- Who calls (publishers, projects, domains, key pairs) and what answers (providers, models, deployments, prices).

create function forbid_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: correct it with a new row', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;

create table publishers (
  id uuid primary key,
  name text not null check (length(name) between 1 and 200),
  email text check (length(email) between 3 and 320),
  activated_at timestamptz,
  created_at timestamptz not null default now()
);

create table projects (
  id uuid primary key,
  publisher_id uuid not null references publishers,
  name text not null check (length(name) between 1 and 200),
  -- Null: every model that has a price. A list narrows what this project may name.
  allowed_models text[],
  -- How long the text of conversations is kept. Zero: only counts and keyed digests, never text.
  content_retention_days int not null default 30 check (content_retention_days between 0 and 365),
  -- Null: no limit of its own.
  requests_per_minute int check (requests_per_minute > 0),
  tokens_per_minute int8 check (tokens_per_minute > 0),
  concurrent_calls int check (concurrent_calls > 0),
  created_at timestamptz not null default now()
);
create index projects_of_publisher on projects (publisher_id);

create table domains (
  project_id uuid primary key references projects,
  name text not null check (length(name) between 1 and 253),
  verification_token text not null,
  verified_at timestamptz,
  created_at timestamptz not null default now()
);

create table key_pairs (
  id uuid primary key,
  project_id uuid not null references projects,
  name text not null check (length(name) between 1 and 200),
  publishable_key text not null unique,
  -- HMAC-SHA-256 of the secret key under the server secret numbered secret_version. The key itself is stored nowhere.
  secret_digest bytea not null check (length(secret_digest) = 32),
  secret_version int2 not null,
  secret_last4 text not null,
  active boolean not null default true,
  expires_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default now()
);
create index key_pairs_of_project on key_pairs (project_id);

create table providers (
  id uuid primary key,
  name text not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  kind text not null check (kind in ('openai-compatible')),
  base_url text not null check (base_url ~ '^https?://'),
  -- Sealed with AES-256-GCM (src/platform/seal.ts). Null: the upstream asks for no key.
  sealed_api_key text,
  enabled boolean not null default true,
  created_at timestamptz not null default now()
);

create table models (
  id text primary key check (id ~ '^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$'),
  owned_by text not null check (length(owned_by) between 1 and 100),
  context_window int check (context_window > 0),
  max_output_tokens int check (max_output_tokens > 0),
  enabled boolean not null default true,
  created_at timestamptz not null default now()
);

create table deployments (
  id uuid primary key,
  model_id text not null references models,
  provider_id uuid not null references providers,
  -- The name that the provider knows the model by.
  upstream_model text not null check (length(upstream_model) between 1 and 300),
  -- Lowest first: the order in which routes are tried.
  position int not null default 0,
  -- Optional request fields that this deployment cannot honour; a request that uses one is routed elsewhere or refused.
  unsupported_fields text[] not null default '{}',
  -- Null: the gateway's default (src/rules/limits.ts).
  connect_timeout_ms int check (connect_timeout_ms between 50 and 60000),
  first_token_timeout_ms int check (first_token_timeout_ms between 50 and 600000),
  idle_timeout_ms int check (idle_timeout_ms between 50 and 600000),
  total_timeout_ms int check (total_timeout_ms between 50 and 3600000),
  -- What the provider asks of the operator, in nanos per million tokens, for receipts and margins. Null: not known.
  cost_input int8 check (cost_input >= 0),
  cost_cached_input int8 check (cost_cached_input >= 0),
  cost_cache_write int8 check (cost_cache_write >= 0),
  cost_output int8 check (cost_output >= 0),
  cost_reasoning int8 check (cost_reasoning >= 0),
  check (num_nulls(cost_input, cost_cached_input, cost_cache_write, cost_output, cost_reasoning) in (0, 5)),
  enabled boolean not null default true,
  created_at timestamptz not null default now()
);
create index deployments_of_model on deployments (model_id, position);

-- Nanos (10^-9 credits) per million tokens and token class: every published price is an exact integer.
-- The upper bound, 10,000 credits per million tokens, catches a price typed in the wrong unit.
create table price_versions (
  id int8 generated always as identity primary key,
  model_id text not null references models,
  input int8 not null check (input between 0 and 10000000000000),
  cached_input int8 not null check (cached_input between 0 and 10000000000000),
  cache_write int8 not null check (cache_write between 0 and 10000000000000),
  output int8 not null check (output between 0 and 10000000000000),
  reasoning int8 not null check (reasoning between 0 and 10000000000000),
  effective_from timestamptz not null default now(),
  created_at timestamptz not null default now(),
  unique (model_id, effective_from)
);
create trigger price_versions_append_only before update or delete on price_versions
  for each row execute function forbid_change();

-- Bumped by every change to what gateways route by; they poll this one row instead of rereading the catalogue.
create table catalogue_version (
  only_row boolean primary key default true check (only_row),
  version int8 not null default 1
);
insert into catalogue_version default values;

create function bump_catalogue_version() returns trigger language plpgsql as $$
begin
  update catalogue_version set version = version + 1;
  return null;
end $$;
create trigger models_bump after insert or update or delete on models
  for each statement execute function bump_catalogue_version();
create trigger deployments_bump after insert or update or delete on deployments
  for each statement execute function bump_catalogue_version();
create trigger providers_bump after insert or update or delete on providers
  for each statement execute function bump_catalogue_version();
create trigger price_versions_bump after insert on price_versions
  for each statement execute function bump_catalogue_version();
