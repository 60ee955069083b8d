-- What PostgreSQL has made of a function's text, so that an edit by hand is noticed. The version before leaves it empty: then
-- nobody knows, and the next migration applies the text again.
alter table applied_functions add column definition_digest text;
