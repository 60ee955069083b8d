-- The root secrets that processes have started with, so that one with another secret of the same number is noticed before it
-- answers anybody. check_value is an HMAC of a constant under a key that is derived from the secret: it tells nothing of it.
--
-- digest_keys are the keys that records are found by (Idempotency-Keys, messages, conversations), sealed under this secret.
-- They are the same in every row: gateways that have different secrets first must still find each other's records.
create table secret_versions (
  version int primary key,
  check_value bytea not null check (length(check_value) = 32),
  digest_keys text not null,
  recorded_at timestamptz not null default now()
);
grant select, insert on secret_versions to parley_gateway, parley_console, parley_worker, parley_matcher;

-- Which secrets each gateway has. Null: a gateway of the version before, which does not say.
alter table gateways add column secret_versions int[];
