-- What publishers manage of a wallet, of conversations and of a project in the console.

-- Below which balance a project's owners are told. `told_at` is set while the balance is below: so once per crossing.
create table wallet_alerts (
  project_id uuid primary key references projects,
  threshold_nanos int8 not null check (threshold_nanos > 0),
  told_at timestamptz
);
alter table wallet_alerts enable row level security;
create policy tenant on wallet_alerts to parley_tenant using (project_id in (select id from projects));
grant select, insert, update, delete on wallet_alerts to parley_tenant;

-- A wallet's movements by time: not every id is made from the clock.
create index transfers_debited_at on transfers (debit_account, created_at, id);
create index transfers_credited_at on transfers (credit_account, created_at, id);

-- What the calls of a conversation came to, added by the worker that rolls usage up, in the same transaction: a gateway
-- neither writes this nor waits for it. Empty it together with usage_hours and usage_days.
create table conversation_sums (
  project_id uuid not null,
  conversation_id text not null,
  calls int8 not null,
  input_tokens int8 not null,
  output_tokens int8 not null,
  charged_nanos int8 not null,
  primary key (project_id, conversation_id)
) with (fillfactor = 80);
alter table conversation_sums enable row level security;
create policy tenant on conversation_sums to parley_tenant using (project_id = tenant_project());
grant select, delete on conversation_sums to parley_tenant;
-- Written after the answer has left, so what this index costs no caller waits for.
create index conversations_lately on conversations (project_id, last_call_at desc, id desc) where deleted_at is null;

-- A deleted conversation takes the stored answers to repeated requests with it.
grant select (project_id, conversation_id), delete on idempotency_keys to parley_tenant;

-- A deleted project. The row stays for the ledger, which names it; nobody reaches it any more.
alter table projects add column archived_at timestamptz;
grant update (archived_at) on projects to parley_tenant;

-- Addresses whose trial credit was granted, as digests: deleting an account and signing up again grants it no second time.
create table trial_addresses (
  digest bytea primary key check (length(digest) = 32),
  granted_at timestamptz not null default now()
);
-- As before, but never to an archived project, and once per address.
create or replace function grant_trial_credit(publisher uuid) returns boolean language plpgsql security definer
set search_path = public, pg_temp as $$
declare amount int8; address text; project uuid;
begin
  select p.trial_credit_nanos, p.email into amount, address from publishers p
    where p.id = publisher and p.activated_at is not null and p.trial_credit_nanos > 0 for update;
  if not found then
    return false;
  end if;
  select p.id into project from projects p where p.publisher_id = publisher and p.archived_at is null
    order by p.created_at, p.id limit 1;
  if not found then
    return false;
  end if;
  update publishers set trial_credit_nanos = 0 where id = publisher;
  insert into trial_addresses (digest) values (sha256(convert_to(lower(coalesce(address, publisher::text)), 'UTF8')))
    on conflict do nothing;
  if not found then
    return false;
  end if;
  return ledger_transfer(gen_random_uuid(), '00000000-0000-0000-0000-000000000003', project, amount, 'grant',
    'trial:' || publisher, 'trial credit', null);
end $$;
revoke execute on function grant_trial_credit(uuid) from public;
grant execute on function grant_trial_credit(uuid) to parley_tenant;

-- Text that must go earlier than was said when it was stored, because its project keeps text for a shorter time now. A
-- worker goes through the project's conversations, and once more when no call from before can still run.
create table retention_cuts (
  project_id uuid primary key references projects,
  days int not null check (days between 0 and 365),
  -- The conversation that was shortened last.
  reached text not null default '',
  due_at timestamptz not null default now(),
  is_last boolean not null default false
);
alter table retention_cuts enable row level security;
create policy tenant on retention_cuts to parley_tenant using (project_id in (select id from projects));
grant select, insert, update, delete on retention_cuts to parley_tenant;
