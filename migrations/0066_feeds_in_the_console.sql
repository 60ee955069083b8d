-- Advertisers give their feeds in the console: by address, or as files that are looked at before they are published. They see
-- their own under row security, and write no offer: imports are a worker's, and reviews the operator's.
alter table feeds
  add column is_paused boolean not null default false,
  -- Its next run may take away more of its offers than is believed otherwise.
  add column is_removal_confirmed boolean not null default false,
  -- Nobody sees it from then on, and none of its offers is recommended. A worker takes them away.
  add column removed_at timestamptz;

-- Files that members have sent. A worker says what each would change; then it is published, or forgotten.
create table feed_uploads (
  id uuid primary key,
  advertiser_id uuid not null references advertisers,
  campaign_id uuid not null references campaigns,
  -- The name of one that is there, or of one that is made when this is published.
  feed text not null check (length(feed) between 1 and 200),
  currency text check (currency ~ '^[A-Z]{3}$'),
  file_name text not null check (length(file_name) between 1 and 200),
  -- As it was sent, packed or not. Null when nobody needs it any more.
  file bytea check (length(file) <= 10485760),
  state text not null default 'to_check' check (state in ('to_check', 'checked', 'to_publish', 'published', 'failed')),
  is_removal_confirmed boolean not null default false,
  -- From when a worker may take it. While one works on it: when another may take that one for dead. Null: nothing is to be done.
  due_at timestamptz default now(),
  -- What it would change, or has changed, and which rows were refused.
  report jsonb,
  -- Why it failed, in words.
  problem text check (length(problem) <= 1000),
  created_at timestamptz not null default now()
);
alter table feed_uploads alter column file set storage external;
create index feed_uploads_due on feed_uploads (due_at) where due_at is not null;
create index feed_uploads_of_advertiser on feed_uploads (advertiser_id);
-- An advertiser has very many offers, and few that wait for a person or were rejected by one.
create index offers_in_review on offers (advertiser_id, item_id) where review <> 'approved';

do $$
declare name text;
begin
  foreach name in array array['feeds', 'feed_runs', 'feed_uploads'] loop
    execute format('alter table %I enable row level security', name);
    execute format('create policy planes on %I to parley_gateway, parley_console, parley_worker, parley_matcher using (true)',
      name);
  end loop;
  -- Its own campaign as well: a foreign key does not ask whose one is, and it pays for the offers.
  foreach name in array array['feeds', 'feed_uploads'] loop
    execute format('create policy advertiser on %I to parley_advertiser using (advertiser_id = (select (tenant_context())[3]))
      with check (advertiser_id = (select (tenant_context())[3]) and campaign_id in (select id from campaigns))', name);
  end loop;
end $$;
create policy advertiser on feed_runs to parley_advertiser using (feed_id in (select id from feeds));
-- That an offer is stopped, and not where.
create policy advertiser on offer_stops to parley_advertiser using (exists (select from offers o where o.id = offer_id));

grant select on feeds, feed_runs to parley_advertiser;
grant insert (id, advertiser_id, campaign_id, name) on feeds to parley_advertiser;
grant update (campaign_id, source_url, fetch_every, currency, next_fetch_at, last_error, failures, etag, last_modified, is_paused,
  is_removal_confirmed, removed_at) on feeds to parley_advertiser;
grant select (id, advertiser_id, campaign_id, feed, currency, file_name, state, is_removal_confirmed, due_at, report, problem,
  created_at), insert (id, advertiser_id, campaign_id, feed, currency, file_name, file), delete,
  update (state, is_removal_confirmed, due_at) on feed_uploads to parley_advertiser;
grant select (feed_id, item_id, title, brand, link, image_link, price, currency, availability, category, headline, benefit, review,
  review_reason, reviewed_at, created_at) on offers to parley_advertiser;
grant select (offer_id) on offer_stops to parley_advertiser;

grant insert (id, advertiser_id, campaign_id, name) on feeds to parley_worker;
grant select, update, delete on feed_uploads to parley_worker;
-- Nothing is fetched for an advertiser of whom nothing is known.
grant select (domain_verified_at) on advertisers to parley_worker;
