-- Recommendations: who advertises what (advertisers, campaigns, feeds, offers), what each project allows, what was
-- recommended, and why so often nothing was.

create table advertisers (
  id uuid primary key,
  -- Shown before every recommendation.
  name text not null unique check (length(name) between 1 and 60),
  legal_name text check (length(legal_name) between 1 and 200),
  -- Landing pages are on this domain or below it. The operator has made sure that it is theirs.
  domain text not null check (length(domain) between 1 and 253 and domain = lower(domain)),
  status text not null default 'pending' check (status in ('pending', 'active', 'suspended')),
  created_at timestamptz not null default now()
);

create table campaigns (
  id uuid primary key,
  advertiser_id uuid not null references advertisers,
  name text not null check (length(name) between 1 and 200),
  status text not null default 'active' check (status in ('active', 'paused')),
  starts_at timestamptz,
  ends_at timestamptz check (ends_at > starts_at),
  -- What a click is worth to the advertiser at most, and what may be spent.
  bid_nanos int8 not null check (bid_nanos between 1 and 1000000000000),
  daily_budget_nanos int8 check (daily_budget_nanos > 0),
  total_budget_nanos int8 check (total_budget_nanos > 0),
  -- Who it is for, in the advertiser's own words: "for people distracted by noise at home".
  context_hints text[] not null default '{}' check (cardinality(context_hints) <= 20),
  -- What it must not stand beside.
  negative_hints text[] not null default '{}' check (cardinality(negative_hints) <= 20),
  created_at timestamptz not null default now(),
  unique (advertiser_id, name)
);

-- What an advertiser sends again and again: its items are an advertiser's, whichever run brought them.
create table feeds (
  id uuid primary key,
  advertiser_id uuid not null references advertisers,
  campaign_id uuid not null references campaigns,
  name text not null check (length(name) between 1 and 200),
  -- None of its offers is recommended after this: the last run that was published, and 30 days. Kept here and not with
  -- each offer, because a run that brings the same again must not touch a million rows that matchers would then read
  -- again. Matchers keep it in memory, like the state of campaigns. Null: no run was published yet.
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  unique (advertiser_id, name)
);

-- One import. It is published whole or not at all.
create table feed_runs (
  id uuid primary key,
  feed_id uuid not null references feeds,
  format text not null check (length(format) between 1 and 40),
  state text not null default 'running' check (state in ('running', 'published', 'refused', 'failed')),
  -- Why it was not published, in words.
  reason text check (length(reason) <= 1000),
  rows_read int8 not null default 0,
  added int8 not null default 0,
  changed int8 not null default 0,
  unchanged int8 not null default 0,
  rejected int8 not null default 0,
  removed int8 not null default 0,
  -- Offered before and not in this run: the next one without them removes them.
  missing int8 not null default 0,
  -- [{row, item, reason}], the first of them.
  rejections jsonb not null default '[]' check (jsonb_typeof(rejections) = 'array'),
  started_at timestamptz not null default now(),
  finished_at timestamptz
);
create index feed_runs_of_feed on feed_runs (feed_id, started_at desc);

create table offers (
  id uuid primary key,
  advertiser_id uuid not null references advertisers,
  campaign_id uuid not null references campaigns,
  feed_id uuid not null references feeds,
  -- The advertiser's own id of it.
  item_id text not null check (length(item_id) between 1 and 100),
  -- Variants of one product share it; one of them at most takes part in an auction.
  item_group_id text check (length(item_group_id) between 1 and 100),
  title text not null check (length(title) between 1 and 150),
  description text not null default '' check (length(description) <= 5000),
  brand text check (length(brand) between 1 and 70),
  link text not null check (link ~ '^https://' and length(link) <= 2000),
  image_link text check (length(image_link) <= 2000),
  price numeric(14, 2) check (price >= 0),
  currency text check (currency ~ '^[A-Z]{3}$'),
  availability text not null default 'in_stock' check (availability in ('in_stock', 'out_of_stock', 'preorder', 'backorder')),
  condition text check (condition in ('new', 'refurbished', 'used')),
  gtin text check (length(gtin) <= 50),
  -- "Electronics > Audio > Headphones"; what publishers block is a beginning of it.
  category text not null default '' check (length(category) <= 750),
  language text not null default 'en' check (language ~ '^[a-z]{2}$'),
  -- What readers see, cleaned: one line each.
  headline text not null check (length(headline) between 1 and 60),
  benefit text not null default '' check (length(benefit) <= 110),
  review text not null default 'approved' check (review in ('approved', 'pending', 'rejected')),
  review_reason text check (length(review_reason) <= 500),
  -- When a person decided; null: the rules did. A change of the words asks again.
  reviewed_at timestamptz,
  -- Of everything that the feed says of it: an import that brings the same again changes nothing.
  content_hash bytea not null check (length(content_hash) = 32),
  -- Of what is searched and embedded.
  text_hash bytea not null check (length(text_hash) = 32),
  -- In how many runs in a row it was missing; at two it is removed. Until when it may be recommended: feeds.expires_at.
  missing_runs int2 not null default 0,
  removed_at timestamptz,
  -- The transaction that changed it last: matchers ask for what changed since the oldest one that was still open when
  -- they asked before, so that no late commit is missed, which a counter or a time would.
  changed_in xid8 not null default pg_current_xact_id(),
  created_at timestamptz not null default now(),
  unique (advertiser_id, item_id)
);
create index offers_changed on offers (changed_in, id);
create index offers_of_feed on offers (feed_id, id);
-- That an offer was missing from a run changes nothing that a matcher has to know.
create function note_change() returns trigger language plpgsql as $$
begin
  old.missing_runs := new.missing_runs;
  if old is distinct from new then new.changed_in := pg_current_xact_id(); end if;
  return new;
end $$;
create trigger offers_changed before update on offers for each row execute function note_change();

-- Sentence vectors by the digest of their text: whichever host embeds a text first, does it for all. int8, unit length
-- times 127.
create table text_vectors (
  model text not null check (length(model) between 1 and 100),
  digest bytea not null check (length(digest) = 32),
  vector bytea not null,
  primary key (model, digest)
);

-- The operator's switch for the whole installation, and where every matcher says how it is.
create table recommendation_switch (
  one boolean primary key default true check (one),
  is_on boolean not null default true,
  changed_at timestamptz not null default now()
);
insert into recommendation_switch default values;
create table matchers (
  id uuid primary key,
  host text not null check (length(host) <= 255),
  state text not null check (state in ('starting', 'ready', 'switched_off')),
  -- Why it is switched off, in words for the operator.
  problem text check (length(problem) <= 1000),
  offers int8 not null default 0,
  beat_at timestamptz not null default now()
);

-- What a project allows. No row: off.
create table monetization (
  project_id uuid primary key references projects,
  -- test: everything is decided and counted, and nobody is shown anything.
  mode text not null default 'off' check (mode in ('off', 'test', 'on')),
  label text not null default 'Ad' check (length(label) between 1 and 40),
  format text not null default 'markdown' check (format in ('markdown', 'plain')),
  -- Anything but general: no recommendations at all.
  audience text not null default 'general' check (audience in ('general', 'teen', 'child')),
  -- On top of what the installation asks for.
  min_relevance real not null default 0 check (min_relevance between 0 and 1),
  first_turn int2 not null default 1 check (first_turn between 1 and 50),
  min_turn_gap int2 not null default 3 check (min_turn_gap between 1 and 50),
  max_per_conversation int2 not null default 3 check (max_per_conversation between 1 and 20),
  floor_nanos int8 not null default 0 check (floor_nanos between 0 and 1000000000000),
  blocked_categories text[] not null default '{}' check (cardinality(blocked_categories) <= 200),
  blocked_advertisers uuid[] not null default '{}' check (cardinality(blocked_advertisers) <= 1000),
  blocked_domains text[] not null default '{}' check (cardinality(blocked_domains) <= 1000),
  -- Words that keep a conversation free of recommendations.
  excluded_topics text[] not null default '{}' check (cardinality(excluded_topics) <= 100),
  changed_at timestamptz not null default now()
);
alter table monetization enable row level security;
create policy tenant on monetization to parley_tenant using (project_id in (select id from projects));
grant select, insert, update on monetization to parley_tenant;

-- What was recommended, and in test mode what would have been. No text of anybody's conversation. Ids are uuid version 7.
create table recommendations (
  id uuid primary key,
  project_id uuid not null,
  call_id uuid not null,
  advertiser_id uuid not null,
  campaign_id uuid not null,
  offer_id uuid not null,
  turn int not null check (turn > 0),
  -- What a click would cost, by the second price of the auction.
  price_nanos int8 not null check (price_nanos > 0),
  relevance real not null,
  label text not null,
  state text not null check (state in ('delivered', 'aborted', 'test')),
  created_at timestamptz not null default now()
) partition by range (id);
create index recommendations_of_project on recommendations (project_id, id);
alter table recommendations enable row level security;
create policy tenant on recommendations to parley_tenant using (project_id = tenant_project());
grant select on recommendations to parley_tenant;

-- Why a call of a project with monetization had a recommendation or had none, counted.
create table recommendation_outcomes (
  project_id uuid not null,
  hour timestamptz not null,
  outcome text not null check (length(outcome) between 1 and 40),
  calls int8 not null check (calls > 0),
  primary key (project_id, hour, outcome)
) with (fillfactor = 80);
alter table recommendation_outcomes enable row level security;
create policy tenant on recommendation_outcomes to parley_tenant using (project_id in (select id from projects));
grant select on recommendation_outcomes to parley_tenant;

-- What is remembered of a conversation for a day, by a keyed digest of its id: how often something was recommended, and
-- whether it touched something that keeps it free of recommendations. For callers that do not send the whole history.
create table conversation_restraints (
  project_id uuid not null,
  digest bytea not null check (length(digest) = 32),
  turns int not null default 1,
  is_sensitive boolean not null default false,
  served int not null default 0,
  last_turn int,
  offers uuid[] not null default '{}',
  advertisers uuid[] not null default '{}',
  expires_at timestamptz not null,
  primary key (project_id, digest)
) with (fillfactor = 70);
create index conversation_restraints_by_age on conversation_restraints (expires_at);
alter table conversation_restraints enable row level security;
create policy tenant on conversation_restraints to parley_tenant using (project_id = tenant_project());

-- Publishers see whose recommendations stand in their replies, and of offers only what readers were shown.
grant select (id, name, domain, status) on advertisers to parley_tenant;
grant select (id, advertiser_id, headline, benefit, link, category) on offers to parley_tenant;
grant select on recommendation_switch to parley_tenant;
grant select (state, offers, beat_at) on matchers to parley_tenant;

-- As before, and for recommendations too.
create or replace function ensure_partitions(days_ahead int default 14) returns int language plpgsql as $$
declare parent text; day date; name text; made int := 0;
begin
  perform pg_advisory_xact_lock(hashtext('ensure_partitions'));
  foreach parent in array array['charges', 'calls', 'recommendations'] loop
    for offset_days in -2..days_ahead loop
      day := (now() at time zone 'utc')::date + offset_days;
      name := parent || '_' || to_char(day, 'YYYYMMDD');
      continue when to_regclass(name) is not null;
      execute format('create table %I partition of %I for values from (%L) to (%L)', name, parent,
        first_id_of(day::timestamp at time zone 'utc'), first_id_of((day + 1)::timestamp at time zone 'utc'));
      made := made + 1;
    end loop;
  end loop;
  return made;
end $$;
select ensure_partitions();
