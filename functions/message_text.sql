-- What is said in a message, as far as it is searched: its text and its refusal, the first 20,000 characters. Images,
-- files and arguments of tools are not. The bound is for the time that taking words apart costs whoever stores a message, and it
-- keeps a tsvector within PostgreSQL's megabyte, whatever the text is.
create or replace function message_text(content json) returns text language sql immutable parallel safe as $$
  select left(translate(concat_ws(E'\n\n',
    case json_typeof(content -> 'content')
      when 'string' then content ->> 'content'
      when 'array' then (select string_agg(part ->> 'text', E'\n\n') from json_array_elements(content -> 'content') part
        where part ->> 'type' = 'text') end,
    -- The two characters mark what was found.
    content ->> 'refusal'), chr(1) || chr(2), ''), 20000)
$$;

revoke execute on function message_text from public;
