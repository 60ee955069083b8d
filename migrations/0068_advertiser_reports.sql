-- Reports in the advertisers' console, and what holds a campaign back.

-- When a click was taken back: that is added up from then on, as the click was, instead of being looked for in every report.
alter table clicks add column reversed_at timestamptz;
update clicks set reversed_at = now() where state = 'reversed';
create index clicks_by_reversal on clicks (reversed_at) where reversed_at is not null;
drop index clicks_reversed;
create index conversions_by_time on conversions (created_at);
-- The same as `through`, of clicks that were taken back and of conversions. Null: all that there are is still to be added up.
alter table advertiser_days_progress add column changes_through timestamptz;
comment on column advertiser_days.event is '''serve'', the verdict of a click, ''reversed'' of a click that was valid and taken back, or ''conversion''';

-- Which of very many offers were served most in a month of days: asked of two rows for each, instead of thirty. What is told of
-- those that are shown is read from the days.
create table advertiser_offer_months (
  advertiser_id uuid not null references advertisers,
  month date not null check (extract(day from month) = 1),
  offer_id uuid not null,
  campaign_id uuid not null,
  -- How often until the end of each day of the month: what was served in between is a difference of two.
  served_until int[] not null check (cardinality(served_until) = 31),
  primary key (advertiser_id, month, offer_id, campaign_id)
) with (fillfactor = 80);
insert into advertiser_offer_months
  select advertiser_id, month, value::uuid, campaign_id,
    array(select coalesce(sum(t.times), 0)::int from generate_series(1, 31) n left join unnest(days, counts) t (day, times)
      on t.day <= n group by n order by n)
  from (
    select advertiser_id, date_trunc('month', day)::date as month, value, campaign_id,
      array_agg(extract(day from day)::int) as days, array_agg(times) as counts
    from advertiser_days where dimension = 'offer' and event = 'serve' group by 1, 2, 3, 4) x;
drop index advertiser_days_served;
create index advertiser_days_served on advertiser_days (advertiser_id, dimension, day) include (value, campaign_id, times)
  where event = 'serve' and dimension <> 'offer';

-- How often a campaign could have been recommended: what matchers have counted, by day (UTC).
create table campaign_chances (
  campaign_id uuid not null references campaigns,
  day date not null,
  -- Conversations that were open to a recommendation while it took part.
  open int8 not null check (open >= 0),
  -- Of these, in which something of it fitted; fitted nearly as well as the best; and won.
  fitted int8 not null check (fitted >= 0),
  contended int8 not null check (contended >= 0),
  won int8 not null check (won >= 0),
  primary key (campaign_id, day)
) with (fillfactor = 50);

alter table advertiser_days enable row level security;
create policy planes on advertiser_days to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
create policy advertiser on advertiser_days to parley_advertiser using (advertiser_id = (select (tenant_context())[3]));
alter table advertiser_offer_months enable row level security;
create policy planes on advertiser_offer_months to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
create policy advertiser on advertiser_offer_months to parley_advertiser using (advertiser_id = (select (tenant_context())[3]));
alter table campaign_chances enable row level security;
create policy planes on campaign_chances to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
create policy advertiser on campaign_chances to parley_advertiser using (campaign_id in (select id from campaigns));

grant select on advertiser_days, advertiser_days_progress, advertiser_offer_months, campaign_chances to parley_advertiser;
grant select, insert, update, delete on advertiser_offer_months to parley_worker;
grant select (headline) on offers to parley_advertiser;
grant select (advertiser_id, click_id, campaign_id, offer_id, verdict, created_at) on conversions to parley_worker;
grant select, delete on campaign_chances to parley_worker;
grant select, insert, update on campaign_chances to parley_matcher;
