-- More wire formats, several keys per provider, weighted routes, margins; and gateways are told of changes at once.

alter table providers drop constraint providers_kind_check;
-- Which kinds there are, the code knows (src/providers/create-provider.ts): a new one needs no migration.
alter table providers add constraint providers_kind_check check (kind ~ '^[a-z0-9-]{1,40}$');
-- What a wire format leaves open (headers, a region, field names), checked by its adapter.
alter table providers add column settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object');

create table provider_keys (
  id uuid primary key,
  provider_id uuid not null references providers,
  name text not null check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  -- Sealed (src/platform/secrets.ts): it can be replaced and used, never read.
  sealed_key text not null,
  -- For people to tell keys apart. Null: sealed before this was noted.
  last4 text check (length(last4) <= 4),
  enabled boolean not null default true,
  -- When, and with which status, the provider last refused this key. Gateways write it; a new key clears it.
  rejected_at timestamptz,
  rejected_status int2,
  created_at timestamptz not null default now(),
  unique (provider_id, name)
);
insert into provider_keys (id, provider_id, name, sealed_key, created_at)
  select gen_random_uuid(), id, 'default', sealed_api_key, created_at from providers where sealed_api_key is not null;
alter table providers drop column sealed_api_key;

-- Routes with the same position are one group: calls are spread over it by weight, and the next group is for when it fails.
alter table deployments add column weight int not null default 100 check (weight between 1 and 1000);

-- What is added to a provider's price when prices are imported, in hundredths of a percent.
alter table models add column margin_bps int not null default 0 check (margin_bps between 0 and 100000);
-- Where a price came from: typed by hand, or the name of the price file.
alter table price_versions add column source text check (length(source) between 1 and 100);

create or replace function bump_catalogue_version() returns trigger language plpgsql as $$
begin
  update catalogue_version set version = version + 1;
  notify parley_catalogue;
  return null;
end $$;
-- A gateway that notes a refused key does not change what is routed by.
create trigger provider_keys_bump after insert or delete or update of sealed_key, enabled on provider_keys
  for each statement execute function bump_catalogue_version();
