-- What advertisers are told of their campaigns, added up by day: ten million recommendations cannot be read for every report.
create table advertiser_days (
  advertiser_id uuid not null references advertisers,
  -- What `value` is: nothing more, the offer's id, the hint that decided the match (empty: the offer's own words), its category.
  dimension text not null check (dimension in ('campaign', 'offer', 'hint', 'category')),
  day date not null, -- UTC
  campaign_id uuid not null,
  value text not null check (length(value) <= 300),
  -- 'serve', or the verdict of a click. Clicks that were taken back later are counted here as they were.
  event text not null check (length(event) between 1 and 40),
  times int not null check (times > 0),
  spent_nanos int8 not null default 0 check (spent_nanos >= 0),
  primary key (advertiser_id, dimension, value, day, campaign_id, event)
) with (fillfactor = 80);
-- Which offers were served most is asked of very many rows; all else of those few that are shown.
create index advertiser_days_served on advertiser_days (advertiser_id, dimension, day) include (value, campaign_id, times)
  where event = 'serve';

-- Everything that was written until then has been added up.
create table advertiser_days_progress (
  one boolean primary key default true check (one),
  through timestamptz
);
insert into advertiser_days_progress default values;

-- When it was written, which may be later than the click: what is added up must not miss any.
alter table clicks add column written_at timestamptz not null default now();
create index clicks_by_time on clicks (written_at);
create index clicks_reversed on clicks (advertiser_id, id) where state = 'reversed';

grant select, insert, update, delete on advertiser_days to parley_worker;
grant select, update on advertiser_days_progress to parley_worker;
grant select (id, advertiser_id, campaign_id, offer_id, hint, state, created_at) on recommendations to parley_worker;
