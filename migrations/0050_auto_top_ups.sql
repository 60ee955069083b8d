-- Cards that publishers have saved, and top-ups that are charged to them while nobody is there.

-- What a card is called by the payment provider, and what people know it by. Its number never comes here.
create table wallet_cards (
  payment_method_id text primary key check (length(payment_method_id) between 1 and 200),
  project_id uuid not null references projects,
  customer_id text not null check (length(customer_id) between 1 and 200),
  brand text not null check (length(brand) between 1 and 50),
  last4 text not null check (last4 ~ '^[0-9]{4}$'),
  exp_month int2 not null check (exp_month between 1 and 12),
  exp_year int2 not null check (exp_year between 2000 and 2999),
  saved_at timestamptz not null default now(),
  -- No new payment is charged to it from then on. The row goes when the provider has forgotten the card, too.
  removed_at timestamptz
);
create unique index wallet_cards_one_of_project on wallet_cards (project_id) where removed_at is null;
create index wallet_cards_removed on wallet_cards (removed_at) where removed_at is not null;

alter table wallet_cards enable row level security;
create policy tenant on wallet_cards to parley_tenant using (project_id = (select tenant_project()));
create policy planes on wallet_cards to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
grant select, update (removed_at) on wallet_cards to parley_tenant;
grant select, insert, update (removed_at) on wallet_cards to parley_console;
grant select, delete on wallet_cards to parley_worker;

-- A row is there while top-ups are automatic.
create table auto_top_ups (
  project_id uuid primary key references projects,
  -- Below this balance the amount is charged, as long as the month (UTC) stays within its most.
  threshold_nanos int8 not null check (threshold_nanos > 0),
  amount_nanos int8 not null check (amount_nanos > 0 and amount_nanos % 10000000 = 0),
  month_max_nanos int8 not null check (month_max_nanos >= amount_nanos),
  -- In a row. A payment, or somebody who saves these settings, sets them back.
  declines int2 not null default 0 check (declines >= 0),
  next_try_at timestamptz,
  paused_at timestamptz,
  -- Why the last one was declined, until the admins have a mail about it.
  untold_failure text check (length(untold_failure) <= 300)
);

alter table auto_top_ups enable row level security;
create policy tenant on auto_top_ups to parley_tenant using (project_id = (select tenant_project()));
create policy planes on auto_top_ups to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
grant select, insert, update, delete on auto_top_ups to parley_tenant;
grant select, update (declines, next_try_at, paused_at) on auto_top_ups to parley_console;
grant select, update (declines, next_try_at, paused_at, untold_failure) on auto_top_ups to parley_worker;

-- An automatic payment is 'created' from before the provider is asked until its answer is known, then 'paid' or 'expired'.
alter table payments
  add column is_automatic boolean not null default false,
  -- Which card it is charged to: asked again after a crash, the provider must be asked the very same.
  add column customer_id text check (length(customer_id) between 1 and 200),
  add column payment_method_id text check (length(payment_method_id) between 1 and 200),
  -- Why nothing was paid, in words for the payer.
  add column failure text check (length(failure) <= 300),
  -- The payer wants the card of this checkout to be saved, and it is not yet.
  add column saves_card boolean not null default false,
  -- What was paid on top of the credit.
  add column tax_nanos int8 not null default 0 check (tax_nanos >= 0),
  add constraint automatic_payments_have_a_card
    check (is_automatic = (customer_id is not null) and is_automatic = (payment_method_id is not null));
-- However many workers there are, a project has one automatic payment at a time.
create unique index payments_one_pending on payments (project_id) where is_automatic and state = 'created';

-- What a worker charges must be nothing that a tenant's transaction can write.
revoke insert on payments from parley_tenant;
grant insert (session_id, project_id, amount_nanos, currency, saves_card) on payments to parley_tenant;
grant update (saves_card, tax_nanos) on payments to parley_console;
grant select, insert, update (state, payment_intent, paid_at, problem, failure, tax_nanos) on payments to parley_worker;
