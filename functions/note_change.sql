-- Notes the transaction that changed an offer, by which matchers find what is new to them. That an offer was missing
-- from a run changes nothing that a matcher has to know.
create or replace function note_change() returns trigger language plpgsql as $$
begin
  old.missing_runs := new.missing_runs;
  if old is distinct from new then new.changed_in := pg_current_xact_id(); end if;
  return new;
end $$;

revoke execute on function note_change from public;
