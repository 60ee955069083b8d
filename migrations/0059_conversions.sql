-- What became of clicks: advertisers tell it from their servers. Nothing of it moves money.

-- Whether links of its recommendations name the click, so that the advertiser can tell of it later.
alter table advertisers add column adds_click_id boolean not null default false;
-- Of the key by which its server proves itself. Null: it has none.
alter table advertisers add column conversion_key_digest bytea unique check (length(conversion_key_digest) = 32);

create table conversions (
  id uuid primary key,
  advertiser_id uuid not null references advertisers,
  -- The advertiser's own: the same event counts once.
  event_id text not null check (length(event_id) between 1 and 200),
  click_id uuid not null,
  -- Of the click; null where it is none of the advertiser's.
  campaign_id uuid,
  offer_id uuid,
  verdict text not null check (verdict in ('counted', 'unknown_click', 'no_reader', 'before_click', 'too_late')),
  amount numeric(16, 4) not null check (amount >= 0),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  happened_at timestamptz not null,
  created_at timestamptz not null default now(),
  unique (advertiser_id, event_id)
);

grant select (adds_click_id) on advertisers to parley_gateway;
