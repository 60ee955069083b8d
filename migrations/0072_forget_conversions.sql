-- Conversions that do not count are forgotten after a while: an advertiser's server that tells of clicks that are not its own, or
-- of every page that it shows, would otherwise fill the table for ever.
create index conversions_uncounted on conversions (created_at) where verdict <> 'counted';
grant select (id, verdict, created_at), delete on conversions to parley_worker;
