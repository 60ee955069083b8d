-- Feeds that a worker fetches by itself, so that nobody has to send the same file every day.
alter table feeds
  -- Null: its files are sent by hand.
  add column source_url text check (source_url ~ '^https://' and length(source_url) <= 2000),
  add column fetch_every text check (fetch_every in ('hourly', '6h', 'daily')),
  -- Of a shop that says no currency with its prices, as Shopify's files do not.
  add column currency text check (currency ~ '^[A-Z]{3}$'),
  -- When it is fetched next. While it is fetched: when somebody else may take it for given up.
  add column next_fetch_at timestamptz,
  add column last_fetch_at timestamptz,
  -- What the last one came to, and why it failed, in words; how many failed in a row.
  add column last_fetch text check (last_fetch in ('published', 'unchanged', 'refused', 'failed')),
  add column last_error text check (length(last_error) <= 1000),
  add column failures int not null default 0 check (failures >= 0),
  -- What its server said of the file that was published last: asked with these, it need not send the same again.
  add column etag text check (length(etag) <= 300),
  add column last_modified text check (length(last_modified) <= 100),
  add constraint a_schedule_has_an_address check ((source_url is null) = (fetch_every is null)
    and (source_url is null) = (next_fetch_at is null));
create index feeds_to_fetch on feeds (next_fetch_at) where next_fetch_at is not null;

-- What a worker needs to import one: as the operator's command does, and with its entry in the audit log.
grant select, update on feeds to parley_worker;
grant select, insert, update on feed_runs to parley_worker;
grant select, insert, update on offers to parley_worker;
grant select (id, name, domain, status) on advertisers to parley_worker;
grant select (id, name) on campaigns to parley_worker;
grant select, insert on audit_log to parley_worker;
