-- The text of a message that is searched: its content and its refusal, the first 20,000 characters. Images, files and arguments
-- of tools are left out. The bound limits the time that splitting into words adds to the storing of a message, and keeps a
-- tsvector within PostgreSQL's megabyte, whatever the text is.
--
-- Not in SQL: PostgreSQL plans the body of such a function again for every message, which takes longer than the rest.
create or replace function message_text(content json) returns text language plpgsql immutable parallel safe as $$
declare said text;
begin
  if json_typeof(content -> 'content') = 'string' then
    said := content ->> 'content';
  elsif json_typeof(content -> 'content') = 'array' then
    said := (select string_agg(part ->> 'text', E'\n\n') from json_array_elements(content -> 'content') part
      where part ->> 'type' = 'text');
  end if;
  -- The two characters mark what was found.
  return left(translate(concat_ws(E'\n\n', said, content ->> 'refusal'), chr(1) || chr(2), ''), 20000);
end $$;

revoke execute on function message_text from public;
