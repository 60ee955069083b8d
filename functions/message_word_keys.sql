-- What message_words has of words: a digest of project and word, behind the number of the block of 32,768 messages that it was
-- said in. So the words of one project are never looked at for another; a search goes from block to block, the newest first,
-- and no list of matches is longer than a block; and what is written now stands together at the end of the index.
-- Rows that are there were made by it: it stays as it is.
create or replace function message_word_keys(project uuid, seq int8, words text[]) returns int8[]
language sql immutable parallel safe as $$
  select coalesce(array_agg(distinct (seq >> 15 << 32)
    | (hashtextextended(word, hashtextextended(project::text, 0)) & 4294967295)), '{}')
  from unnest(words) word
$$;

revoke execute on function message_word_keys from public;
