-- A value of metadata of more than 64 bytes. Its digest then stands in `value`, which is indexed, so that an index does not
-- hold all that was sent a second time. Where this is null, `value` is the value: a short one, or one that an older version wrote.
alter table call_metadata add column long_value text;

-- Not checked for the rows that are there: in all of them it is null, and to look would hold up writes for as long as it takes.
alter table call_metadata
  add constraint a_long_value_has_512_characters check (length(long_value) <= 512) not valid;
