-- The last time that somebody proved their identity in this session. Signing in is a proof, so older sessions have theirs.
alter table sessions add column proven_at timestamptz;
update sessions set proven_at = created_at;
alter table sessions alter column proven_at set not null, alter column proven_at set default now();

-- Keys that a device keeps and unlocks with a finger, a face or a PIN (WebAuthn). Only the public half is here.
create table passkeys (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  name text not null check (length(name) between 1 and 100),
  credential_id text not null unique check (length(credential_id) between 1 and 1400),
  public_key bytea not null,
  -- The authenticator's own count at its last use; 0 if it does not count.
  counter int8 not null check (counter >= 0),
  transports text[] not null default '{}',
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);
create index passkeys_of_user on passkeys (user_id);
-- Challenges for passkeys are given out to everybody, and a new password ends the steps of one person.
create index verifications_by_value on verifications (value);
