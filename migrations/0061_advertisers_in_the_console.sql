-- Advertisers in the console. Until now only the operator's command line touched them. From here on they have members, who
-- see and change what is theirs under a role of its own: it has no right on anything of publishers, and row security shows it
-- one advertiser. So whatever publishers' tenants may do is what it was.

-- Roles belong to the whole server, so another database may do the same in this very moment.
do $$
begin
  if not exists (select from pg_roles where rolname = 'parley_advertiser') then
    create role parley_advertiser nologin nobypassrls;
  end if;
exception
  when duplicate_object or unique_violation then null;
  when insufficient_privilege then
    raise exception 'this database user may not create roles: run "create role parley_advertiser nologin", "alter role parley_tenant noinherit" and "grant parley_advertiser to parley_tenant" as an administrator, then migrate again';
end $$;
-- The tenants' login serves advertisers, too: it may become their role, and has none of its rights before it does.
do $$
begin
  if (select rolinherit from pg_roles where rolname = 'parley_tenant') then
    alter role parley_tenant noinherit;
  end if;
  if not pg_has_role('parley_tenant', 'parley_advertiser', 'member') then
    grant parley_advertiser to parley_tenant;
  end if;
exception
  when internal_error or unique_violation then null; -- "tuple concurrently updated": another database has done it
  when insufficient_privilege then
    raise exception 'this database user may not change the role parley_tenant: run "alter role parley_tenant noinherit" and "grant parley_advertiser to parley_tenant" as an administrator, then migrate again';
end $$;

-- Who may act for an advertiser.
create table advertiser_members (
  advertiser_id uuid not null references advertisers,
  user_id uuid not null references users on delete cascade,
  role text not null check (role in ('admin', 'editor', 'viewer')),
  created_at timestamptz not null default now(),
  primary key (advertiser_id, user_id)
);
create index advertiser_members_of_user on advertiser_members (user_id);

-- One row per checkout, as payments is for projects.
create table advertiser_payments (
  session_id text primary key check (length(session_id) between 1 and 200),
  advertiser_id uuid not null references advertisers,
  amount_nanos int8 not null check (amount_nanos > 0 and amount_nanos % 10000000 = 0),
  tax_nanos int8 not null default 0 check (tax_nanos >= 0),
  currency text not null check (currency = 'usd'),
  state text not null default 'created' check (state in ('created', 'paid', 'expired', 'refunded')),
  payment_intent text unique check (length(payment_intent) between 1 and 200),
  problem text check (length(problem) <= 500),
  created_at timestamptz not null default now(),
  paid_at timestamptz,
  check ((state in ('paid', 'refunded')) = (payment_intent is not null)),
  check ((payment_intent is null) = (paid_at is null))
);
create index advertiser_payments_of on advertiser_payments (advertiser_id, created_at);

-- The third element is the advertiser of the transaction, which functions name tenant_advertiser().
do $$
declare name text;
begin
  foreach name in array array['advertisers', 'campaigns', 'offers', 'advertiser_wallets', 'campaign_days', 'campaign_totals',
    'advertiser_members', 'advertiser_payments'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy planes on %I to parley_gateway, parley_console, parley_worker, parley_matcher using (true)',
      name);
  end loop;
  foreach name in array array['campaigns', 'offers', 'advertiser_wallets', 'advertiser_members', 'advertiser_payments'] loop
    execute format('create policy advertiser on %I to parley_advertiser using (advertiser_id = (select (tenant_context())[3]))',
      name);
  end loop;
  foreach name in array array['campaign_days', 'campaign_totals'] loop
    execute format('create policy advertiser on %I to parley_advertiser using (campaign_id in (select id from campaigns))', name);
  end loop;
end $$;
create policy advertiser on advertisers to parley_advertiser using (id = (select (tenant_context())[3]));
-- The log of an advertiser has its id where the log of a publisher has the publisher's.
create policy advertiser on audit_log to parley_advertiser using (publisher_id = (select (tenant_context())[3]));
-- Publishers see by name who advertises and what, as before: the columns that are granted are the limit.
create policy tenant on advertisers to parley_tenant using (true);
create policy tenant on offers to parley_tenant using (true);

-- Members with their names and addresses; the users themselves stay out of reach.
create view advertiser_people with (security_barrier = true) as
  select m.advertiser_id, m.user_id, m.role, m.created_at, u.name, u.email, u.two_factor_enabled
  from advertiser_members m join users u on u.id = m.user_id
  where m.advertiser_id = (select (tenant_context())[3]);

grant usage on schema public to parley_advertiser;
grant select on advertisers, campaigns, advertiser_wallets, campaign_days, campaign_totals, advertiser_members,
  advertiser_payments, advertiser_people, audit_log to parley_advertiser;
grant select (id, advertiser_id, campaign_id, removed_at) on offers to parley_advertiser;
grant insert (id, advertiser_id, name, status, bid_nanos, daily_budget_nanos, total_budget_nanos, pacing, starts_at, ends_at,
  context_hints, negative_hints) on campaigns to parley_advertiser;
grant update (status, bid_nanos, daily_budget_nanos, total_budget_nanos, pacing, starts_at, ends_at, context_hints,
  negative_hints) on campaigns to parley_advertiser;
grant insert, delete, update (role) on advertiser_members to parley_advertiser;
grant insert (session_id, advertiser_id, amount_nanos, currency) on advertiser_payments to parley_advertiser;
grant insert on audit_log, mails to parley_advertiser;

-- Whoever signs up as an advertiser is pending: only the owner's login says otherwise.
grant insert (id, name, legal_name, domain) on advertisers to parley_console;
grant select, insert, delete on advertiser_members to parley_console;
grant select on advertiser_wallets to parley_console;
grant select, update (state, payment_intent, paid_at, problem, tax_nanos) on advertiser_payments to parley_console;
