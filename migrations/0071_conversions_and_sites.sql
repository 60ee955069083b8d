-- How many events of one click were told.
create index conversions_of_click on conversions (click_id);

-- Of the network that asked for a browser session, which is the site's own, under the salt of the day on which it did: who calls with
-- the session's secret from there is the site, and no reader. Null: not known.
alter table browser_sessions add column network_tag bytea;
