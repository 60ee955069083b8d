-- What readers report. Three reports of an offer in a project, each of another recommendation and from another network, stop it
-- there until somebody has looked at it.

create table recommendation_reports (
  -- One for each: who reports it again adds nothing.
  recommendation_id uuid primary key,
  project_id uuid not null,
  offer_id uuid not null,
  -- Null: the reader gave none.
  reason text check (reason in ('misleading', 'offensive', 'out_of_place', 'scam', 'other')),
  -- Of the reader's network, under the salt of the day: as with clicks, it says nothing when that is destroyed.
  network_tag bytea not null check (length(network_tag) = 16),
  created_at timestamptz not null default now(),
  -- When somebody had looked at the offer: from then on it does not count.
  resolved_at timestamptz
);
create unique index one_report_of_a_network on recommendation_reports (project_id, offer_id, network_tag)
  where resolved_at is null;
create index recommendation_reports_by_age on recommendation_reports (created_at);

-- What is not recommended in a project, because its readers reported it.
create table offer_stops (
  project_id uuid not null references projects,
  offer_id uuid not null references offers on delete cascade,
  stopped_at timestamptz not null default now(),
  primary key (project_id, offer_id)
);
create index offer_stops_of_offer on offer_stops (offer_id);

alter table recommendation_reports enable row level security;
alter table offer_stops enable row level security;
create policy tenant on recommendation_reports to parley_tenant using (project_id = (select tenant_project()));
create policy tenant on offer_stops to parley_tenant using (project_id = (select tenant_project()));
create policy planes on recommendation_reports to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
create policy planes on offer_stops to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
grant select (recommendation_id, project_id, offer_id, reason, created_at, resolved_at) on recommendation_reports to parley_tenant;
grant select (recommendation_id, created_at), delete on recommendation_reports to parley_worker;
grant select on offer_stops to parley_tenant, parley_gateway;

-- Readers are told who pays, and what the offer was found under.
grant select (legal_name) on advertisers to parley_gateway;
grant select (category) on offers to parley_gateway;
