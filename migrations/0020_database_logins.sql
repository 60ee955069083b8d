-- A login per plane. Until now everything ran as the owner of the tables, and the wall between publishers stood on our own
-- code: a hostile statement could leave the tenant's role or name another publisher. From here on each plane can have a
-- login of its own (parley database logins) that may do what its plane needs, and the tenant of a transaction is signed.
--
-- Nobody but the owner has a right that is not granted here or in a later migration. Credit moves only through the ledger's
-- functions, which run with their owner's rights. test/integration/database-grants.test.ts lists what was considered.

-- The ledger's statements lock the wallets first and everything else after them. So does this migration, which touches them
-- all: in another order, each would wait for what the other has.
lock table wallets in access exclusive mode;

-- Roles belong to the whole server, so another database may make the same ones in this very moment.
do $$
declare name text;
begin
  foreach name in array array['parley_gateway', 'parley_console', 'parley_worker', 'parley_matcher'] loop
    begin
      if not exists (select from pg_roles where rolname = name) then
        execute format('create role %I nologin nobypassrls', name);
      end if;
    exception
      when duplicate_object or unique_violation then null;
      when insufficient_privilege then
        raise exception 'this database user may not create roles: run "create role parley_gateway nologin", and the same for parley_console, parley_worker and parley_matcher, as an administrator, then migrate again';
    end;
  end loop;
end $$;

-- The key that a tenant's context is signed with. Console and worker read it when they start; the tenant's role cannot.
create table tenant_key (
  only_row boolean primary key default true check (only_row),
  key bytea not null check (length(key) = 32),
  -- The key as HMAC uses it: filled up to a block and mixed with the two pads.
  inner_block bytea not null check (length(inner_block) = 64),
  outer_block bytea not null check (length(outer_block) = 64)
);
do $$
declare
  key bytea := sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
  inner_block bytea := key || decode(repeat('00', 32), 'hex');
  outer_block bytea := inner_block;
begin
  for n in 0..63 loop
    inner_block := set_byte(inner_block, n, get_byte(inner_block, n) # 54);
    outer_block := set_byte(outer_block, n, get_byte(outer_block, n) # 92);
  end loop;
  insert into tenant_key (key, inner_block, outer_block) values (key, inner_block, outer_block);
end $$;

-- Publisher and project of this transaction: 'PUBLISHER/PROJECT/EXPIRES/SIGNATURE', the signature being HMAC-SHA-256 in
-- hex of what is before it. Who cannot read the key cannot name anybody else. Runs as the owner, so `current_user` is the
-- owner here: a session of the owner's, which could read everything anyway, may also name a tenant as versions before
-- this one do, so that an old console keeps working while new ones are started.
create function tenant_context() returns uuid[] language plpgsql stable security definer
set search_path = public, pg_temp as $$
declare
  signed text := current_setting('parley.tenant', true);
  parts text[];
  signature text;
begin
  if signed is null or signed = '' then
    if pg_has_role(session_user, current_user, 'member') then
      return array[nullif(current_setting('parley.publisher', true), '')::uuid,
        nullif(current_setting('parley.project', true), '')::uuid];
    end if;
    return null;
  end if;
  parts := string_to_array(signed, '/');
  select encode(sha256(k.outer_block || sha256(k.inner_block
      || convert_to(parts[1] || '/' || parts[2] || '/' || parts[3], 'UTF8'))), 'hex')
    into signature from tenant_key k;
  if signature is null or signature is distinct from parts[4] then
    raise exception 'the tenant of this transaction is not signed' using errcode = 'insufficient_privilege';
  end if;
  if parts[3]::int8 < extract(epoch from now()) then
    raise exception 'the tenant of this transaction was signed too long ago: compare the clocks of the servers'
      using errcode = 'insufficient_privilege';
  end if;
  return array[parts[1]::uuid, nullif(parts[2], '')::uuid];
end $$;

create or replace function tenant_publisher() returns uuid language sql stable as $$ select (tenant_context())[1] $$;
create or replace function tenant_project() returns uuid language sql stable as $$ select (tenant_context())[2] $$;

-- The policies as before, but each asks once for a statement and not once for a row: checking a signature takes time.
alter policy tenant on publishers using (id = (select tenant_publisher()));
alter policy tenant on projects using (publisher_id = (select tenant_publisher())
  and ((select tenant_project()) is null or id = (select tenant_project())));
alter policy tenant on transfers
  using (debit_account = (select tenant_project()) or credit_account = (select tenant_project()));
do $$
declare name text;
begin
  foreach name in array array['memberships', 'invitations', 'audit_log'] loop
    execute format('alter policy tenant on %I using (publisher_id = (select tenant_publisher()))', name);
  end loop;
  foreach name in array array['holds', 'charges', 'calls', 'conversations', 'messages', 'idempotency_keys',
    'conversation_sums', 'recommendations', 'conversation_restraints', 'usage_anomalies'] loop
    execute format('alter policy tenant on %I using (project_id = (select tenant_project()))', name);
  end loop;
end $$;
create or replace view members with (security_barrier = true) as
  select m.publisher_id, m.user_id, m.role, m.created_at, u.name, u.email, u.two_factor_enabled
  from memberships m join users u on u.id = m.user_id
  where m.publisher_id = (select tenant_publisher());

-- Planes work for all publishers, so row security does not narrow them; what they may do is what is granted below.
do $$
declare name text;
begin
  for name in select relname from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and relrowsecurity loop
    execute format('create policy planes on %I to parley_gateway, parley_console, parley_worker, parley_matcher using (true)', name);
  end loop;
end $$;

-- Makes missing day partitions, as before, and with its owner's rights: whoever runs it may not make tables. The audit
-- reads partitions by their own names, so the worker may read each.
create or replace function ensure_partitions(days_ahead int default 14) returns int language plpgsql security definer
set search_path = public, pg_temp as $$
declare parent text; day date; name text; made int := 0;
begin
  perform pg_advisory_xact_lock(hashtext('ensure_partitions'));
  foreach parent in array array['charges', 'calls', 'recommendations'] loop
    for offset_days in -2..least(days_ahead, 60) loop
      day := (now() at time zone 'utc')::date + offset_days;
      name := parent || '_' || to_char(day, 'YYYYMMDD');
      continue when to_regclass(name) is not null;
      execute format('create table %I partition of %I for values from (%L) to (%L)', name, parent,
        first_id_of(day::timestamp at time zone 'utc'), first_id_of((day + 1)::timestamp at time zone 'utc'));
      execute format('grant select on %I to parley_worker', name);
      made := made + 1;
    end loop;
  end loop;
  return made;
end $$;
do $$
declare name text;
begin
  for name in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent in ('charges'::regclass, 'calls'::regclass, 'recommendations'::regclass) loop
    execute format('grant select on %I to parley_worker', name);
  end loop;
end $$;

-- When the transactions of this database began that may still write. A login sees the times of its own sessions only; the
-- owner sees those of every login that was granted to it, which parley database logins does. What even the owner may not
-- see is taken to be a minute old: statements of the ledger end after five seconds.
create function open_transactions() returns table (began_at timestamptz, has_written boolean) language sql stable
security definer set search_path = public, pg_temp as $$
  select coalesce(xact_start, now() - interval '1 minute'), backend_xid is not null from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and usesysid is not null
    and (xact_start is not null or backend_xid is not null or backend_xmin is not null)
$$;

-- What the console may do to a wallet, and no more: credit a payment that it knows, and settle what went back of it.
create function ledger_credit_payment(id uuid, payment text, reason text) returns boolean language plpgsql
security definer set search_path = public, pg_temp as $$
#variable_conflict use_variable
declare p payments;
begin
  select * into p from payments where session_id = payment and state in ('paid', 'refunded');
  if not found then
    raise exception 'no payment % was made', payment using errcode = 'no_data_found';
  end if;
  return ledger_transfer(id, '00000000-0000-0000-0000-000000000002', p.project_id, p.amount_nanos, 'topup',
    'stripe:' || p.payment_intent, reason, null);
end $$;

-- As before, but a tenant's own login gets credit for its own publisher only.
create or replace function grant_trial_credit(publisher uuid, project uuid, claims text[]) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare amount int8;
begin
  if pg_has_role(session_user, 'parley_tenant', 'member') and not pg_has_role(session_user, current_user, 'member')
    and publisher is distinct from tenant_publisher() then
    raise exception 'publisher % is not the tenant of this transaction', publisher using errcode = 'insufficient_privilege';
  end if;
  select p.trial_credit_nanos into amount from publishers p
    where p.id = publisher and p.activated_at is not null and p.trial_credit_nanos > 0 for update;
  if not found or not exists (
    select from projects j join domains d on d.project_id = j.id
    where j.id = project and j.publisher_id = publisher and j.archived_at is null and d.verified_at is not null) then
    return false;
  end if;
  update publishers set trial_credit_nanos = 0 where id = publisher;
  begin
    insert into trial_claims (digest) select sha256(convert_to(claim, 'UTF8')) from unnest(claims) claim order by 1;
  exception when unique_violation then
    return false; -- none of them is kept: what is left of them is still somebody else's to claim
  end;
  return ledger_transfer(gen_random_uuid(), '00000000-0000-0000-0000-000000000003', project, amount, 'grant',
    'trial:' || publisher, 'trial credit', null);
end $$;

-- Functions that planes call and that write where planes may not.
alter function ledger_apply(uuid, uuid[], json, json, json) security definer set search_path = public, pg_temp;
alter function ledger_sweep(interval, interval, int) security definer set search_path = public, pg_temp;
alter function ledger_settle_returns(text) security definer set search_path = public, pg_temp;
alter function idempotency_claim(uuid, bytea, bytea, uuid, uuid, text, interval, interval)
  security definer set search_path = public, pg_temp;

-- PostgreSQL lets everybody call a new function. Ours are for whom they are granted to.
do $$
declare f regprocedure;
begin
  for f in select p.oid from pg_proc p
    where p.pronamespace = current_schema()::regnamespace and p.proowner = current_user::regrole
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e') loop
    execute format('revoke execute on function %s from public', f);
  end loop;
  -- PostgreSQL before 15 let everybody make tables and functions in this schema, and a database keeps that.
  if pg_has_role(current_user, (select nspowner from pg_namespace where nspname = current_schema()), 'usage') then
    execute format('revoke create on schema %I from public', current_schema());
  end if;
  execute format('grant usage on schema %I to parley_tenant, parley_gateway, parley_console, parley_worker, parley_matcher',
    current_schema());
end $$;

-- Which compute, and read or write nothing that their caller may not.
grant execute on function first_id_of(timestamptz), time_of_id(uuid), add_counts(int4[], int4[]),
  audit_log_digest(audit_log) to parley_tenant, parley_gateway, parley_console, parley_worker;
grant execute on function tenant_context(), tenant_publisher(), tenant_project() to parley_tenant;
grant execute on function grant_trial_credit(uuid), grant_trial_credit(uuid, uuid, text[]) to parley_tenant, parley_worker;

-- Gateway: reads whom it answers and what it routes by, holds and settles, and writes conversations and recommendations.
grant select on projects, key_pairs, monetization, models, deployments, price_versions, providers, provider_keys,
  catalogue_version, holds, charges, calls, transfers, gateways, conversations, recommendations, recommendation_outcomes,
  conversation_restraints, campaigns to parley_gateway;
grant select (id, activated_at) on publishers to parley_gateway;
grant select (project_id, verified_at) on domains to parley_gateway;
grant select (id, name, domain, status) on advertisers to parley_gateway;
grant select (id, advertiser_id, link, review, removed_at) on offers to parley_gateway;
grant select (project_id, call_id, gateway_id, created_at, result), delete on idempotency_keys to parley_gateway;
grant update (last_used_at) on key_pairs to parley_gateway;
grant update (rejected_at, rejected_status) on provider_keys to parley_gateway;
grant insert, update, delete on gateways to parley_gateway;
grant insert, update on conversations, recommendation_outcomes, conversation_restraints to parley_gateway;
grant insert on messages, recommendations to parley_gateway;
grant update (state) on recommendations to parley_gateway;
grant execute on function ledger_apply(uuid, uuid[], json, json, json), ensure_partitions(int),
  idempotency_claim(uuid, bytea, bytea, uuid, uuid, text, interval, interval) to parley_gateway;

-- Console, outside of a tenant's transaction: people and how they sign in, whom they belong to, and payments.
grant select, insert, update, delete on users, sessions, credentials, verifications, two_factors, passkeys, throttles
  to parley_console;
grant select, insert on publishers, memberships, audit_log, payments, payment_returns to parley_console;
grant insert on mails to parley_console;
grant select on tenant_key, projects, invitations, transfers, models, deployments, price_versions, catalogue_version,
  advertisers, campaigns, feeds, offers to parley_console;
grant select (project_id, name, verified_at) on domains to parley_console;
grant select (project_id, balance_nanos, held_nanos, owed_nanos) on wallets to parley_console;
grant select (project_id, threshold_nanos) on wallet_alerts to parley_console;
grant select (id, name, kind, enabled) on providers to parley_console;
grant select (provider_id, enabled) on provider_keys to parley_console;
grant update (name, email, activated_at, confirmation_awaited_from, trial_credit_nanos) on publishers to parley_console;
grant update (role), delete on memberships to parley_console;
grant delete on invitations to parley_console;
grant select (project_id, created_by, active, deleted_at), update (active, deleted_at) on key_pairs to parley_console;
grant update (state, payment_intent, paid_at, problem) on payments to parley_console;
grant update (amount_nanos, told_at, stage, reinstated) on payment_returns to parley_console;
grant execute on function ledger_credit_payment(uuid, text, text), ledger_settle_returns(text) to parley_console;

-- Worker: what ends by itself, what is summed up, what is mailed, and the audit, which reads the whole ledger.
grant select on tenant_key, publishers, projects, domains, price_versions, accounts, wallets, holds, charges, calls,
  transfers, gateways, idempotency_keys, conversations, conversation_restraints, usage_progress, usage_hours, usage_days,
  conversation_sums, usage_anomalies, audit_checkpoint, audit_sums, wallet_alerts, retention_cuts, mails to parley_worker;
grant select (project_id, conversation_id, digest, occurrence, created_at, content_expires_at, content) on messages
  to parley_worker;
grant select (id, expires_at), delete on sessions, verifications to parley_worker;
grant select (subject, started_at), delete on throttles to parley_worker;
grant delete on gateways, idempotency_keys, conversation_restraints, usage_anomalies, retention_cuts to parley_worker;
grant update (content, content_expires_at) on messages to parley_worker;
grant update (next_check_at) on domains to parley_worker;
grant update (told_at) on wallet_alerts to parley_worker;
grant update (reached, due_at, is_last) on retention_cuts to parley_worker;
grant update (attempts, next_attempt_at, sent_at, given_up_at, sealed_body) on mails to parley_worker;
-- Locking the row of conversations that are forgotten needs this right on any column.
grant update (expires_at) on conversation_restraints to parley_worker;
grant update on usage_progress to parley_worker;
grant insert, update on usage_hours, usage_days, conversation_sums to parley_worker;
grant insert, update, delete on audit_checkpoint, audit_sums to parley_worker;
grant execute on function ledger_sweep(interval, interval, int), ensure_partitions(int), open_transactions()
  to parley_worker;

-- Matcher: the catalogue of offers, the vectors that matchers share, and that it lives.
grant select on recommendation_switch, advertisers, campaigns, feeds, offers, text_vectors, matchers to parley_matcher;
grant insert on text_vectors to parley_matcher;
grant insert, update, delete on matchers to parley_matcher;
