-- What a turn has added is counted for its project's day: by the keyed digests of what was new, which a gateway writes itself. It
-- still cannot read what was said.
grant select (digest, occurrence) on messages to parley_gateway;
