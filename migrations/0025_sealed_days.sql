-- Days of the ledger that can no longer change, so that their rows can be put away: parley archive writes down what they come
-- to, and the audit adds that up instead of rows that are gone. While the rows are there, it compares both.

create table sealed_days (
  day date primary key,
  charges int8 not null,
  -- Of the ids and outcomes of its charges, and of its calls: both were the same when it was sealed.
  fingerprint int8 not null,
  sealed_at timestamptz not null default now(),
  -- When its charges were detached.
  archived_at timestamptz
);

-- What each wallet was charged on that day.
create table sealed_sums (
  day date not null references sealed_days,
  account_id uuid not null,
  charged_nanos numeric not null,
  primary key (day, account_id)
);
create trigger sealed_sums_append_only before update or delete on sealed_sums
  for each row execute function forbid_change();

grant select on sealed_days, sealed_sums to parley_worker;
