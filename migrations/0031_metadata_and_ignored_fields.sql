-- What publishers send along with a call in `metadata`. Beside the calls and not in them, because calls are append-only and
-- this has to be erased: with the project's retention of text, with its conversation and with its end user. One row per
-- pair, so that a filter by key and value reads an index of its own project, newest first, and nothing else.
create table call_metadata (
  project_id uuid not null references projects,
  call_id uuid not null,
  key text not null check (length(key) between 1 and 64),
  value text not null check (length(value) <= 512),
  conversation_id text,
  end_user_id uuid,
  expires_at timestamptz not null,
  primary key (project_id, call_id, key)
);
create index call_metadata_of_pair on call_metadata (project_id, key, value, call_id);
create index call_metadata_of_conversation on call_metadata (project_id, conversation_id, call_id)
  where conversation_id is not null;
create index call_metadata_of_end_user on call_metadata (project_id, end_user_id, call_id) where end_user_id is not null;
create index call_metadata_expires_at on call_metadata (expires_at);

-- Names of fields that requests had and nobody reads, by day of UTC. Never their values.
create table ignored_fields (
  project_id uuid not null references projects,
  day date not null,
  name text not null check (length(name) between 1 and 64),
  times int8 not null,
  last_at timestamptz not null,
  primary key (project_id, day, name)
) with (fillfactor = 80);
create index ignored_fields_day on ignored_fields (day);

alter table call_metadata enable row level security;
create policy tenant on call_metadata to parley_tenant using (project_id = (select tenant_project()));
create policy planes on call_metadata to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
alter table ignored_fields enable row level security;
create policy tenant on ignored_fields to parley_tenant using (project_id = (select tenant_project()));
create policy planes on ignored_fields to parley_gateway, parley_console, parley_worker, parley_matcher using (true);

grant insert on call_metadata to parley_gateway;
grant select, delete on call_metadata to parley_tenant;
grant select (project_id, call_id, key, expires_at), delete on call_metadata to parley_worker;
grant select, insert, update (times, last_at) on ignored_fields to parley_gateway;
grant select on ignored_fields to parley_tenant;
grant select (project_id, day, name), delete on ignored_fields to parley_worker;
