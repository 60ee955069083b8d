-- Adds the words of a message that is stored with its text, and erases them when the text is erased, whoever does either and in
-- whichever version. Instructions are left out: they are the same in every conversation, and would be found instead of what
-- was said. Runs as its owner, because nobody else may touch the words.
create or replace function keep_message_words() returns trigger language plpgsql
security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into message_words (project_id, conversation_id, digest, occurrence, seq, words)
    values (new.project_id, new.conversation_id, new.digest, new.occurrence, new.seq, message_word_keys(
      new.project_id, new.seq, tsvector_to_array(to_tsvector('pg_catalog.simple', message_text(new.content)))));
  else
    delete from message_words w where w.project_id = old.project_id and w.conversation_id = old.conversation_id
      and w.digest = old.digest and w.occurrence = old.occurrence;
  end if;
  return null;
end $$;

revoke execute on function keep_message_words from public;

create or replace trigger messages_words_added after insert on messages for each row
  when (new.content is not null and new.role not in ('system', 'developer')) execute function keep_message_words();
create or replace trigger messages_words_erased after update of content on messages for each row
  when (new.content is null and old.content is not null) execute function keep_message_words();
create or replace trigger messages_words_gone after delete on messages for each row
  when (old.content is not null) execute function keep_message_words();
