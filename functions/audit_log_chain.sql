-- Numbers the entries of a publisher's audit log and chains them by their digests: an entry that is altered or taken
-- out leaves a break (firstBrokenEntry in src/store/accounts/audit-log.ts). The lock is for one publisher, so that two
-- entries at once do not get the same number; it is taken here and not by whoever writes, who could forget it.
create or replace function audit_log_chain() returns trigger language plpgsql as $$
declare last record;
begin
  perform pg_advisory_xact_lock(hashtext('audit_log'), hashtext(new.publisher_id::text));
  select l.seq, l.digest into last from audit_log l where l.publisher_id = new.publisher_id order by l.seq desc limit 1;
  new.seq := coalesce(last.seq, 0) + 1;
  new.previous_digest := coalesce(last.digest, decode(repeat('00', 32), 'hex'));
  new.digest := audit_log_digest(new);
  return new;
end $$;

revoke execute on function audit_log_chain from public;
