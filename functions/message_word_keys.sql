-- The keys of words in message_words: a digest of project and word, behind the number of the block of 32,768 messages that the
-- word was said in. So the words of one project are never looked at for another; a search goes from block to block, newest
-- first; no list of matches is longer than a block; and new entries are together at the end of the index. Existing rows were
-- made by this function: it must not change. Not in SQL, for the reason that message_text gives.
create or replace function message_word_keys(project uuid, seq int8, words text[]) returns int8[]
language plpgsql immutable parallel safe as $$
begin
  return (select coalesce(array_agg(distinct (seq >> 15 << 32)
      | (hashtextextended(word, hashtextextended(project::text, 0)) & 4294967295)), '{}')
    from unnest(words) word);
end $$;

revoke execute on function message_word_keys from public;
