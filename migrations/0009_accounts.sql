-- People: users, their sessions, who belongs to which publisher; what the console did for whom; mails to be sent; and the
-- second wall between publishers.

-- The five tables of the sign-in library (better-auth), under our names. The console's tenant role sees none of them.
create table users (
  id uuid primary key,
  name text not null check (length(name) between 1 and 200),
  email text not null unique check (email = lower(email) and length(email) between 3 and 320),
  email_verified boolean not null default false,
  image text,
  two_factor_enabled boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- A token alone opens nothing: the cookie carries it together with a signature under the server's secret.
create table sessions (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  token text not null unique,
  expires_at timestamptz not null,
  ip_address text,
  user_agent text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index sessions_of_user on sessions (user_id);

create table credentials (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  account_id text not null,
  provider_id text not null,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz,
  refresh_token_expires_at timestamptz,
  scope text,
  -- argon2id, in the PHC format.
  password text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (provider_id, account_id)
);
create index credentials_of_user on credentials (user_id);

-- Short-lived proofs: password resets, second steps of signing in. The identifier is a digest of what the caller holds.
create table verifications (
  id uuid primary key,
  identifier text not null,
  value text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index verifications_by_identifier on verifications (identifier);
create index verifications_by_age on verifications (expires_at);

create table two_factors (
  id uuid primary key,
  user_id uuid not null unique references users on delete cascade,
  secret text not null, -- sealed
  backup_codes text not null, -- sealed
  verified boolean not null default false,
  failed_verification_count int not null default 0,
  locked_until timestamptz
);

-- How often something was tried in its window, by a digest of what is limited (an address, an account).
create table throttles (
  subject bytea primary key check (length(subject) = 32),
  started_at timestamptz not null default now(),
  attempts int not null default 1
);
create index throttles_by_age on throttles (started_at);

-- Set by signing up, until that person has confirmed their address. An operator's later deactivation is not undone by it.
alter table publishers add column confirmation_awaited_from uuid references users on delete set null;
-- What the first project gets once the publisher is activated; zero again when it was granted.
alter table publishers add column trial_credit_nanos int8 not null default 0 check (trial_credit_nanos >= 0);
create index publishers_to_be_confirmed on publishers (confirmation_awaited_from) where confirmation_awaited_from is not null;
create index publishers_with_trial on publishers (id) where trial_credit_nanos > 0;
-- Who made the pair, for people to ask. The pair is its project's and stays when that person goes.
alter table key_pairs add column created_by uuid references users on delete set null;

create table memberships (
  publisher_id uuid not null references publishers on delete cascade,
  user_id uuid not null references users on delete cascade,
  role text not null check (role in ('owner', 'admin', 'developer', 'viewer')),
  created_at timestamptz not null default now(),
  primary key (publisher_id, user_id)
);
create index memberships_of_user on memberships (user_id);

create table invitations (
  id uuid primary key,
  publisher_id uuid not null references publishers on delete cascade,
  email text not null check (email = lower(email) and length(email) between 3 and 320),
  role text not null check (role in ('owner', 'admin', 'developer', 'viewer')),
  invited_by text not null check (length(invited_by) between 1 and 200),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  unique (publisher_id, email)
);
create index invitations_to on invitations (email);

-- Who changed what. Append-only; each row carries the digest of the one before it, so that a row that was altered or taken
-- out shows. Names are copied, because the log outlives the people in it.
create table audit_log (
  publisher_id uuid not null,
  seq int8 not null,
  at timestamptz not null default now(),
  actor_id uuid,
  actor text not null check (length(actor) between 1 and 200),
  action text not null check (action ~ '^[a-z_]+\.[a-z_]+$'),
  subject text check (length(subject) <= 300),
  project_id uuid,
  ip text check (length(ip) <= 64),
  user_agent text check (length(user_agent) <= 300),
  details jsonb not null default '{}' check (jsonb_typeof(details) = 'object' and length(details::text) <= 4000),
  previous_digest bytea not null check (length(previous_digest) = 32),
  digest bytea not null check (length(digest) = 32),
  primary key (publisher_id, seq)
);
create trigger audit_log_append_only before update or delete on audit_log for each row execute function forbid_change();

create function audit_log_digest(r audit_log) returns bytea language sql stable as $$
  select sha256(r.previous_digest || convert_to(jsonb_build_array(r.publisher_id, r.seq, extract(epoch from r.at),
    r.actor_id, r.actor, r.action, r.subject, r.project_id, r.ip, r.user_agent, r.details)::text, 'utf8'))
$$;

create function audit_log_chain() returns trigger language plpgsql as $$
declare last record;
begin
  perform pg_advisory_xact_lock(hashtext('audit_log'), hashtext(new.publisher_id::text));
  select l.seq, l.digest into last from audit_log l where l.publisher_id = new.publisher_id order by l.seq desc limit 1;
  new.seq := coalesce(last.seq, 0) + 1;
  new.previous_digest := coalesce(last.digest, decode(repeat('00', 32), 'hex'));
  new.digest := audit_log_digest(new);
  return new;
end $$;
create trigger audit_log_chained before insert on audit_log for each row execute function audit_log_chain();

-- Mails to be sent, written in the transaction of what they tell of. The body holds links that open accounts, so it is
-- sealed, and erased when the mail was sent or given up.
create table mails (
  id uuid primary key,
  recipient text not null check (length(recipient) between 3 and 320),
  template text not null check (template ~ '^[a-z_]+$'),
  sealed_body text,
  attempts int not null default 0,
  next_attempt_at timestamptz not null default now(),
  sent_at timestamptz,
  given_up_at timestamptz,
  created_at timestamptz not null default now()
);
create index mails_to_send on mails (next_attempt_at) where sent_at is null and given_up_at is null;

-- Grants the trial credit that signing up promised, once: the row's lock and the transfer's reference both say so. Runs
-- with its owner's rights, because the console's tenant role moves no money.
create function grant_trial_credit(publisher uuid) returns boolean language plpgsql security definer
set search_path = public, pg_temp as $$
declare amount int8; project uuid;
begin
  select p.trial_credit_nanos into amount from publishers p
    where p.id = publisher and p.activated_at is not null and p.trial_credit_nanos > 0 for update;
  if not found then
    return false;
  end if;
  select p.id into project from projects p where p.publisher_id = publisher order by p.created_at, p.id limit 1;
  if not found then
    return false;
  end if;
  update publishers set trial_credit_nanos = 0 where id = publisher;
  return ledger_transfer(gen_random_uuid(), '00000000-0000-0000-0000-000000000003', project, amount, 'grant',
    'trial:' || publisher, 'trial credit', null);
end $$;

-- The second wall. The console's statements for a publisher run as parley_tenant, which sees the rows of the publisher and
-- the project that its transaction names and nothing else, whatever the statement says. Everything else that Parley runs
-- connects as the owner of the tables, whom row security does not concern.
do $$
begin
  if not exists (select from pg_roles where rolname = 'parley_tenant') then
    create role parley_tenant nologin nobypassrls;
  end if;
exception
  when duplicate_object or unique_violation then null; -- another database of this server did so in this very moment
  when insufficient_privilege then
    raise exception 'this database user may not create roles: run "create role parley_tenant nologin" and "grant parley_tenant to %" as an administrator, then migrate again', current_user;
end $$;
do $$
begin
  if not pg_has_role(current_user, 'parley_tenant', 'member') then
    execute format('grant parley_tenant to %I', current_user);
  end if;
end $$;

create function tenant_publisher() returns uuid language sql stable as
  $$ select nullif(current_setting('parley.publisher', true), '')::uuid $$;
create function tenant_project() returns uuid language sql stable as
  $$ select nullif(current_setting('parley.project', true), '')::uuid $$;

alter table publishers enable row level security;
create policy tenant on publishers to parley_tenant using (id = tenant_publisher());
alter table projects enable row level security;
create policy tenant on projects to parley_tenant
  using (publisher_id = tenant_publisher() and (tenant_project() is null or id = tenant_project()));
alter table memberships enable row level security;
create policy tenant on memberships to parley_tenant using (publisher_id = tenant_publisher());
alter table invitations enable row level security;
create policy tenant on invitations to parley_tenant using (publisher_id = tenant_publisher());
alter table audit_log enable row level security;
create policy tenant on audit_log to parley_tenant using (publisher_id = tenant_publisher());

-- Small tables: also all projects of the publisher at once, where no project is named.
do $$
declare name text;
begin
  foreach name in array array['domains', 'key_pairs', 'wallets', 'accounts', 'payments'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy tenant on %I to parley_tenant using (project_id in (select id from projects))', name);
  end loop;
  -- Large tables: always one project, so that every statement goes by the index that begins with it.
  foreach name in array array['holds', 'charges', 'calls', 'conversations', 'messages', 'idempotency_keys'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy tenant on %I to parley_tenant using (project_id = tenant_project())', name);
  end loop;
end $$;
alter table transfers enable row level security;
create policy tenant on transfers to parley_tenant
  using (debit_account = tenant_project() or credit_account = tenant_project());
alter view journal set (security_invoker = true);

-- Members with their names and addresses; the users themselves stay out of reach.
create view members with (security_barrier = true) as
  select m.publisher_id, m.user_id, m.role, m.created_at, u.name, u.email, u.two_factor_enabled
  from memberships m join users u on u.id = m.user_id
  where m.publisher_id = tenant_publisher();

grant usage on schema public to parley_tenant;
grant select on publishers, projects, domains, key_pairs, wallets, accounts, payments, holds, charges, calls, transfers,
  journal, conversations, messages, memberships, invitations, audit_log, members to parley_tenant;
grant update (name) on publishers to parley_tenant;
grant insert on domains, key_pairs, payments, memberships, invitations, audit_log, mails to parley_tenant;
grant insert (id, publisher_id, name) on projects to parley_tenant;
grant insert (id, kind, project_id) on accounts to parley_tenant;
-- A wallet begins empty; only the ledger's functions fill it.
grant insert (project_id) on wallets to parley_tenant;
grant update (name, allowed_models, content_retention_days) on projects to parley_tenant;
grant update on domains, key_pairs to parley_tenant;
grant update, delete on conversations, messages to parley_tenant;
grant update (role), delete on memberships to parley_tenant;
grant update (role, expires_at, invited_by), delete on invitations to parley_tenant;
-- What a call may cost and who answers it; never an address or a key of a provider.
grant select on models, price_versions to parley_tenant;
grant select (id, model_id, provider_id, enabled) on deployments to parley_tenant;
grant select (id, name, kind, enabled) on providers to parley_tenant;
