-- How a domain is checked again and again, and how a key pair is replaced by another and deleted.

-- `verified_at` is what calls depend on, as before: null refuses them. The rest says how it came to that.
--   pending    verified_at null, lapsed_at null
--   verified   verified_at set, failing_since null
--   failing    verified_at set, failing_since set: still works, until it lapses
--   lapsed     verified_at null, lapsed_at set
alter table domains
  -- What proved it last. Who an operator has vouched for is not checked.
  add column proven_by text check (proven_by in ('dns', 'file', 'operator')),
  -- When the present name was given, or somebody last asked for checks after they had ended: pending checks end with it.
  add column pending_since timestamptz not null default now(),
  add column failing_since timestamptz,
  add column lapsed_at timestamptz,
  add column checked_at timestamptz,
  -- Null: not by itself.
  add column next_check_at timestamptz default now() + interval '1 minute',
  -- Checks in a row that found no proof.
  add column misses int not null default 0 check (misses >= 0),
  -- What the last check saw (src/rules/domains.ts says of what it consists).
  add column findings jsonb check (jsonb_typeof(findings) = 'object' and length(findings::text) <= 20000),
  add check (verified_at is not null or failing_since is null),
  add check (verified_at is null or lapsed_at is null);
update domains set proven_by = 'operator', next_check_at = null where verified_at is not null;
create index domains_to_check on domains (next_check_at) where next_check_at is not null;

-- A pair that was rolled names the one that took its place. A deleted pair is refused like one that never was; its row
-- stays, because calls and charges name it.
alter table key_pairs
  add column replaced_by uuid references key_pairs,
  add column deleted_at timestamptz,
  add check (deleted_at is null or not active);
create index key_pairs_replaced on key_pairs (replaced_by) where replaced_by is not null;
