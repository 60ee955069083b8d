-- Which words a message has, to search by: digests of them, and never the words. A table of its own, because an index of
-- `messages` would stop everybody who writes there for as long as it is built. A row is there exactly as long as the text is:
-- triggers add and erase it (functions/keep_message_words.sql). They are cheaper than a foreign key, which would lock each message.
create table message_words (
  project_id uuid not null,
  conversation_id text not null,
  digest bytea not null,
  occurrence int not null,
  seq int8 not null,
  words int8[] not null, -- see functions/message_word_keys.sql
  primary key (project_id, conversation_id, digest, occurrence)
);
-- The newest first, and where there are any at all.
create index message_words_in_order on message_words (project_id, seq);
-- Without the list of pending entries: every search would read all of it, once for each block of messages.
create index message_words_found on message_words using gin (words) with (fastupdate = off);

-- Nobody has a right to it: only functions that run as its owner read it. The policies are for whoever grants one.
alter table message_words enable row level security;
create policy tenant on message_words to parley_tenant using (project_id = (select tenant_project()));
create policy planes on message_words to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
