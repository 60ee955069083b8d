-- Clicks that are paid for. An advertiser prepays; a valid click moves the price of its recommendation out of the
-- advertiser's wallet, a share of it to what the publisher has earned and the rest to the operator, in the transaction that
-- counts it against the campaign's budgets. What was earned is pending for seven days and then goes to the project's wallet.

alter table accounts drop constraint accounts_kind_check;
-- The account of an advertiser has the advertiser's id.
alter table accounts add constraint accounts_kind_check check (kind in ('wallet', 'revenue', 'cash', 'promotion', 'ad_revenue',
  'refunds', 'absorbed', 'breakage', 'adjustment', 'receivable', 'advertiser', 'earnings'));
alter table transfers drop constraint transfers_kind_check;
alter table transfers add constraint transfers_kind_check check (kind in ('topup', 'grant', 'ad_revenue', 'refund',
  'chargeback', 'expiry', 'adjustment', 'reversal', 'late_charge', 'absorbed', 'owed', 'collection', 'click'));

create table advertiser_wallets (
  advertiser_id uuid primary key references advertisers,
  balance_nanos int8 not null default 0,
  constraint no_advertiser_overdraft check (balance_nanos >= 0)
) with (fillfactor = 50);

-- What a project has earned and not been given yet.
create table earnings (
  project_id uuid primary key references projects,
  account_id uuid not null unique references accounts,
  -- Of the price of a click, in hundredths of a percent. The operator's to change.
  share_bps int2 not null default 7000 check (share_bps between 0 and 10000),
  pending_nanos int8 not null default 0,
  constraint no_negative_earnings check (pending_nanos >= 0)
) with (fillfactor = 50);

-- What a campaign has spent on a day (UTC), and ever. Its budgets are checked against these rows, under their locks.
create table campaign_days (
  campaign_id uuid not null references campaigns,
  day date not null,
  spent_nanos int8 not null default 0 check (spent_nanos >= 0),
  clicks int not null default 0 check (clicks >= 0),
  primary key (campaign_id, day)
) with (fillfactor = 50);
create table campaign_totals (
  campaign_id uuid primary key references campaigns,
  spent_nanos int8 not null default 0 check (spent_nanos >= 0)
) with (fillfactor = 50);

-- One row per click, whatever became of it: the same for the publisher, the advertiser and the operator. Of the reader there
-- is a tag of the network, under a salt of its day.
create table clicks (
  id uuid primary key, -- version 7: it says when
  recommendation_id uuid not null,
  project_id uuid not null,
  advertiser_id uuid not null,
  campaign_id uuid not null,
  offer_id uuid not null,
  verdict text not null check (verdict in ('valid', 'test', 'not_delivered', 'head', 'prefetch', 'agent', 'bot', 'previewer',
    'not_a_browser', 'data_centre', 'same_network', 'too_fast', 'too_old', 'too_many', 'repeat', 'over_budget', 'no_credit')),
  -- What the advertiser paid, and what of it the publisher gets.
  price_nanos int8 not null default 0,
  share_nanos int8 not null default 0,
  state text not null default 'unpaid' check (state in ('unpaid', 'pending', 'released', 'reversed')),
  network_tag bytea check (length(network_tag) = 16),
  constraint only_valid_clicks_are_paid check ((verdict = 'valid') = (price_nanos > 0) and (state = 'unpaid') = (price_nanos = 0)),
  constraint share_of_the_price check (share_nanos between 0 and price_nanos)
) with (fillfactor = 90);
-- A recommendation is paid for once, whatever happens at the same time.
create unique index clicks_paid_once on clicks (recommendation_id) where price_nanos > 0;
create index clicks_of_project on clicks (project_id, id);
create index clicks_of_campaign on clicks (campaign_id, id);
create index clicks_of_network on clicks (project_id, network_tag, id);
create index clicks_pending on clicks (id) where state = 'pending';

-- Without the salt of its day, a tag says nothing. A worker destroys it after two days.
create table click_salts (
  day date primary key,
  salt bytea not null check (length(salt) = 32)
);

-- A click on its way to clicks_apply, beside what its recommendation says.
create type asked_click as (id uuid, fee_id uuid, verdict text, network_tag bytea, day date, recommendation_id uuid,
  project_id uuid, advertiser_id uuid, campaign_id uuid, offer_id uuid, price_nanos int8);

-- Of the network that asked for the answer: a click from the same one is the publisher's own.
alter table recommendations add column network_tag bytea;

alter table earnings enable row level security;
alter table clicks enable row level security;
create policy tenant on earnings to parley_tenant using (project_id in (select id from projects));
create policy tenant on clicks to parley_tenant using (project_id = (select tenant_project()));
create policy planes on earnings to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
create policy planes on clicks to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
grant select on earnings to parley_tenant;
grant select (id, recommendation_id, project_id, advertiser_id, campaign_id, offer_id, verdict, price_nanos, share_nanos, state)
  on clicks to parley_tenant;
grant select on click_salts, clicks to parley_gateway;
grant select on advertiser_wallets, earnings, campaign_days, campaign_totals, clicks to parley_worker;
grant select (day), delete on click_salts to parley_worker;
