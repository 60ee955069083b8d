-- What publishers look at of their earnings: sums that are kept where clicks and recommendations are written down, so that a
-- year of them costs as much to read as a day. functions/clicks_count.sql and functions/shown_count.sql keep them.

-- Of all time. What was released is what of it went to the wallet and stayed there.
alter table earnings add column released_nanos int8 not null default 0;
alter table earnings add column taken_back_nanos int8 not null default 0;

-- The clicks of a project on a day (UTC), by verdict. `share_nanos` is what was earned by them and not taken back.
create table click_days (
  project_id uuid not null,
  day date not null,
  verdict text not null,
  clicks int8 not null,
  share_nanos int8 not null,
  taken_back int8 not null,
  taken_back_nanos int8 not null,
  primary key (project_id, day, verdict)
) with (fillfactor = 50);

-- What was shown of an advertiser on a day, in a category (its first words), and what it earned: paid clicks that were not
-- taken back. A click counts on its own day, which may be later than that of the recommendation.
create table recommendation_days (
  project_id uuid not null,
  day date not null,
  advertiser_id uuid not null,
  category text not null,
  shown int8 not null,
  clicks int8 not null,
  earned_nanos int8 not null,
  primary key (project_id, day, advertiser_id, category)
) with (fillfactor = 50);

-- What a conversation has earned stands beside what it cost. A row of a conversation whose calls are not counted yet has no calls.
alter table conversation_sums add column clicks int4 not null default 0;
alter table conversation_sums add column earned_nanos int8 not null default 0;

-- A list of clicks by each of its filters, and the clicks on one recommendation.
create index clicks_of_verdict on clicks (project_id, verdict, id);
create index clicks_of_state on clicks (project_id, state, id) include (share_nanos);
create index clicks_of_advertiser on clicks (project_id, advertiser_id, id) include (verdict, state);
create index clicks_of_recommendation on clicks (recommendation_id, id);

-- Nobody clicks while what was clicked before is added up: gateways wait, and redirect meanwhile.
lock table clicks in share row exclusive mode;
update earnings e set released_nanos = k.released, taken_back_nanos = k.taken_back from (
  select project_id, coalesce(sum(share_nanos) filter (where state = 'released'), 0) as released,
    coalesce(sum(share_nanos) filter (where state = 'reversed'), 0) as taken_back
  from clicks where state in ('released', 'reversed') group by 1) k where k.project_id = e.project_id;
insert into click_days (project_id, day, verdict, clicks, share_nanos, taken_back, taken_back_nanos)
  select project_id, (time_of_id(id) at time zone 'utc')::date, verdict, count(*),
    coalesce(sum(share_nanos) filter (where state <> 'reversed'), 0), count(*) filter (where state = 'reversed'),
    coalesce(sum(share_nanos) filter (where state = 'reversed'), 0)
  from clicks group by 1, 2, 3;
insert into recommendation_days (project_id, day, advertiser_id, category, shown, clicks, earned_nanos)
  select t.project_id, t.day, t.advertiser_id, coalesce(split_part(o.category, ' > ', 1), ''), sum(t.shown), sum(t.clicks),
    sum(t.earned)
  from (
    select project_id, (time_of_id(id) at time zone 'utc')::date as day, advertiser_id, offer_id, count(*) as shown,
      0::int8 as clicks, 0::numeric as earned
    from recommendations where state = 'delivered' group by 1, 2, 3, 4
    union all
    select project_id, (time_of_id(id) at time zone 'utc')::date, advertiser_id, offer_id, 0, count(*), sum(share_nanos)
    from clicks where state in ('pending', 'released') group by 1, 2, 3, 4
  ) t left join offers o on o.id = t.offer_id group by 1, 2, 3, 4;
insert into conversation_sums as s (project_id, conversation_id, calls, input_tokens, output_tokens, charged_nanos, clicks,
    earned_nanos)
  select c.project_id, c.conversation_id, 0, 0, 0, 0, count(*), sum(k.share_nanos)
  from clicks k join recommendations r on r.id = k.recommendation_id
    join calls c on c.id = r.call_id and c.project_id = k.project_id
    join conversations v on v.project_id = c.project_id and v.id = c.conversation_id and v.deleted_at is null
  where k.state in ('pending', 'released') group by 1, 2
  on conflict (project_id, conversation_id) do update set clicks = excluded.clicks, earned_nanos = excluded.earned_nanos;

alter table click_days enable row level security;
alter table recommendation_days enable row level security;
create policy tenant on click_days to parley_tenant using (project_id = (select tenant_project()));
create policy tenant on recommendation_days to parley_tenant using (project_id = (select tenant_project()));
create policy planes on click_days to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
create policy planes on recommendation_days to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
grant select on click_days, recommendation_days to parley_tenant;
