-- The redirect of an affiliate network that links of its recommendations pass through, with {lpurl} where the address of the offer
-- goes. Only operators set it. Null: links lead straight to the offer.
alter table advertisers add column tracking_template text
  check (length(tracking_template) <= 500 and tracking_template ~ '^https://[^/?#{]+[^?#{]*\?[^#{]*\{lpurl\}[^#{]*$');

grant select (tracking_template) on advertisers to parley_gateway;
