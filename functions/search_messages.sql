-- Messages of a project with all of these words and phrases and none of the unwanted ones, the newest first, before a place.
-- Goes from block to block (functions/message_word_keys.sql) through those that the project has messages in. What the index
-- finds is compared with the text itself, as it is now: a phrase has its words in a row, and what was erased or has expired is not
-- found. Chr(1) and chr(2) stand around what was found.
-- Ends after `most` messages, or when its time is over: then a last row without a conversation says where to go on before.
-- Runs as its owner, because the index cannot be used under row security; so it checks by itself whose project it is.
create or replace function search_messages(project uuid, sought text[], unwanted text[], before int8, most int, budget_ms int)
returns table (seq int8, conversation_id text, role text, created_at timestamptz, snippet text) language plpgsql stable
security definer set search_path = public, pg_temp set enable_seqscan = off as $$
declare
  signed uuid := (tenant_context())[2];
  ends_at timestamptz := clock_timestamp() + budget_ms * interval '1 millisecond';
  positive tsquery;
  whole tsquery;
  lexemes text[] := '{}';
  keys int8[];
  part text;
  top int8;
  -- Never null: a plan for any place has to begin there, and not at the newest message.
  place int8 := coalesce(before, 9223372036854775807);
  hit record;
  said text;
  shown int := 0;
begin
  if project is distinct from signed and (signed is not null or not pg_has_role(session_user, current_user, 'member')) then
    raise exception 'the project is not the one of this transaction' using errcode = 'insufficient_privilege';
  end if;
  foreach part in array sought loop
    continue when numnode(phraseto_tsquery('pg_catalog.simple', part)) = 0;
    positive := coalesce(positive && phraseto_tsquery('pg_catalog.simple', part), phraseto_tsquery('pg_catalog.simple', part));
    lexemes := lexemes || tsvector_to_array(to_tsvector('pg_catalog.simple', part));
  end loop;
  if positive is null then return; end if;
  whole := positive;
  foreach part in array unwanted loop
    continue when numnode(phraseto_tsquery('pg_catalog.simple', part)) = 0;
    whole := whole && !! phraseto_tsquery('pg_catalog.simple', part);
  end loop;
  loop
    select max(w.seq) into top from message_words w where w.project_id = project and w.seq < place;
    exit when top is null;
    place := top + 1;
    keys := message_word_keys(project, top, lexemes);
    for hit in
      select w.conversation_id, w.digest, w.occurrence, w.seq from message_words w
      where w.words @> keys and w.project_id = project and w.seq < place
      order by w.seq desc
    loop
      if clock_timestamp() > ends_at then
        seq := hit.seq + 1; conversation_id := null; role := null; created_at := null; snippet := null;
        return next;
        return;
      end if;
      select m.role, m.created_at, message_text(m.content) into role, created_at, said from messages m
      where m.project_id = project and m.conversation_id = hit.conversation_id and m.digest = hit.digest
        and m.occurrence = hit.occurrence and m.content is not null and m.content_expires_at > now();
      continue when not found or not to_tsvector('pg_catalog.simple', said) @@ whole;
      seq := hit.seq;
      conversation_id := hit.conversation_id;
      snippet := ts_headline('pg_catalog.simple', said, positive, format(
        'StartSel=%s, StopSel=%s, MaxFragments=2, MinWords=8, MaxWords=24, ShortWord=0, FragmentDelimiter=" … "', chr(1), chr(2)));
      return next;
      shown := shown + 1;
      if shown = most then return; end if;
    end loop;
    place := top >> 15 << 15;
    if clock_timestamp() > ends_at then
      seq := place; conversation_id := null; role := null; created_at := null; snippet := null;
      return next;
      return;
    end if;
  end loop;
end $$;

revoke execute on function search_messages from public;
grant execute on function search_messages to parley_tenant;
