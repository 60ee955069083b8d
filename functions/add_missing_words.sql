-- Adds, in the next conversations after a place, the words of messages that were stored before words were, and so have none.
-- `seen` conversations were looked at, the last of which is the place that was reached; `added` messages have words now. When
-- that is `most`, there may be more of the same ones. Text that is being erased at the same time is waited for, and left out.
create or replace function add_missing_words(after_project uuid, after_id text, most int)
returns table (project uuid, id text, seen int, added int) language plpgsql
security definer set search_path = public, pg_temp as $$
declare
  conversation record;
  fresh int;
begin
  seen := 0;
  added := 0;
  for conversation in select c.project_id, c.id, c.deleted_at from conversations c
    where (c.project_id, c.id) > (after_project, after_id) order by c.project_id, c.id limit most
  loop
    project := conversation.project_id;
    id := conversation.id;
    seen := seen + 1;
    continue when conversation.deleted_at is not null;
    with missing as (
      select m.digest, m.occurrence, m.seq, m.content from messages m
      where m.project_id = conversation.project_id and m.conversation_id = conversation.id
        and m.content is not null and m.role not in ('system', 'developer')
        and not exists (select from message_words w where w.project_id = m.project_id
          and w.conversation_id = m.conversation_id and w.digest = m.digest and w.occurrence = m.occurrence)
      limit most - added for share of m
    )
    insert into message_words (project_id, conversation_id, digest, occurrence, seq, words)
    select conversation.project_id, conversation.id, m.digest, m.occurrence, m.seq, message_word_keys(
      conversation.project_id, m.seq, tsvector_to_array(to_tsvector('pg_catalog.simple', message_text(m.content))))
    from missing m on conflict do nothing;
    get diagnostics fresh = row_count;
    added := added + fresh;
    exit when added >= most;
  end loop;
  if seen > 0 then return next; end if;
end $$;

revoke execute on function add_missing_words from public;
grant execute on function add_missing_words to parley_worker;
