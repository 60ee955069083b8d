-- Adds the words of messages that are stored with their text, and erases them when the text is erased, whoever does either and in
-- whichever version. Instructions are left out: they are the same in every conversation, and would be found instead of what
-- was said. Messages are stored in batches, and a batch costs half of what each of its messages would. Runs as its owner, because
-- nobody else may touch the words.
create or replace function keep_message_words() returns trigger language plpgsql
security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into message_words (project_id, conversation_id, digest, occurrence, seq, words)
    select n.project_id, n.conversation_id, n.digest, n.occurrence, n.seq, message_word_keys(
      n.project_id, n.seq, tsvector_to_array(to_tsvector('pg_catalog.simple', message_text(n.content))))
    from new_rows n where n.content is not null and n.role not in ('system', 'developer');
  else
    delete from message_words w where w.project_id = old.project_id and w.conversation_id = old.conversation_id
      and w.digest = old.digest and w.occurrence = old.occurrence;
  end if;
  return null;
end $$;

revoke execute on function keep_message_words from public;

create or replace trigger messages_words_added after insert on messages
  referencing new table as new_rows for each statement execute function keep_message_words();
create or replace trigger messages_words_erased after update of content on messages for each row
  when (new.content is null and old.content is not null) execute function keep_message_words();
create or replace trigger messages_words_gone after delete on messages for each row
  when (old.content is not null) execute function keep_message_words();
