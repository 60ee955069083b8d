-- How a campaign spreads its daily budget over the day, and what matchers must know so that nobody is recommended who could
-- not pay for the click.
alter table campaigns add column pacing text not null default 'even' check (pacing in ('even', 'asap', 'front_loaded'));
grant select on advertiser_wallets, campaign_days, campaign_totals to parley_matcher;
