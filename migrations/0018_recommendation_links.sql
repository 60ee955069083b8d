-- Where a recommendation led when a reader was shown it. Kept here because an advertiser can change an offer's address
-- afterwards, and a link that a reader was shown must not be made to lead elsewhere.
alter table recommendations add column link text check (link ~ '^https://' and length(link) <= 2000);
update recommendations r set link = o.link from offers o where o.id = r.offer_id;
