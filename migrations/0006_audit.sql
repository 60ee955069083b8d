-- What the audit (src/store/audit.ts) has read before, so that reading on costs only what is new.
--
-- Every entry settled up to `through` is in audit_sums, and no such entry can appear any more: when the moment was
-- chosen, no transaction that had begun before it was still running, and a charge and a transfer carry the time at which
-- their transaction began, by this server's clock. A checkpoint is a shortcut and never evidence: a full pass ignores it
-- and puts its own in its place.

create table audit_checkpoint (
  only_row boolean primary key default true check (only_row),
  through timestamptz not null,
  charges int8 not null,
  -- When everything was last read from the first entry on.
  full_at timestamptz not null,
  -- What is broken among those entries: a later pass does not look at them again, and must still report it.
  findings json not null
);

-- The sum of each account's entries up to `through`. Numeric: wrong amounts must be reported, not overflow their sum.
create table audit_sums (
  account_id uuid primary key,
  entries_nanos numeric not null
);

-- How the audit finds what was settled since. Rows are appended in the order of time, which is all that a BRIN index
-- needs: a few bytes per megabyte of rows, and almost nothing to do for an insert.
create index charges_by_settling on charges using brin (settled_at) with (autosummarize = on);
create index transfers_by_creation on transfers using brin (created_at) with (autosummarize = on);
