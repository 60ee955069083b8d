-- What the prompts of a conversation begin with: of its first call, or of the last one that began otherwise. A call that
-- begins so comes back, and what a provider caches for it will be read. The digest is keyed, and of an outline only: how
-- long each message is and how it begins and ends.
alter table conversations
  add column opening_messages int,
  add column opening_digest bytea;

-- Not checked for the rows that are there: in all of them both are null, and to look would hold up calls for as long as it takes.
alter table conversations
  add constraint an_opening_is_whole check (
    (opening_messages is null) = (opening_digest is null) and length(opening_digest) = 16
  ) not valid;
