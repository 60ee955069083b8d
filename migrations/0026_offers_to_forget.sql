-- How a worker finds the offers and the vectors that nobody needs any more. Imports alone write offers: they wait while these
-- are made, some seconds for a million. Whoever reads does not; so this is a migration of its own.
create index offers_removed on offers (removed_at) where removed_at is not null;
create index offers_of_text on offers (text_hash);
