-- Requests of a known project that were refused before they reached a model: what whoever integrates Parley looks for first.
-- Codes, our own sentence and names; never a body, a secret or the value of a field. A row stands for so many of its kind:
-- beyond some in a minute they are only counted, so that a flood costs next to nothing.
create table refused_requests (
  -- The x-request-id of the first one, a uuid of version 7: it says when that was.
  id uuid primary key,
  project_id uuid not null references projects,
  key_pair_id uuid not null,
  -- Sent with the secret of a browser session.
  via_session boolean not null,
  status int2 not null,
  code text not null check (length(code) between 1 and 50),
  message text not null check (length(message) <= 500),
  -- The field that is wrong, by its name.
  param text check (length(param) <= 200),
  -- Method and path.
  endpoint text not null check (length(endpoint) <= 120),
  -- As it was named, whether or not there is one.
  model text check (length(model) <= 100),
  times int8 not null check (times > 0),
  last_at timestamptz not null
) with (fillfactor = 80);
create index refused_requests_of_project on refused_requests (project_id, id);
create index refused_requests_of_code on refused_requests (project_id, code, id);
create index refused_requests_of_key on refused_requests (project_id, key_pair_id, id);
create index refused_requests_of_both on refused_requests (project_id, code, key_pair_id, id);

alter table refused_requests enable row level security;
create policy tenant on refused_requests to parley_tenant using (project_id = (select tenant_project()));
create policy planes on refused_requests to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
grant select, insert, update (times, last_at) on refused_requests to parley_gateway;
grant select on refused_requests to parley_tenant;
grant select (id, project_id), delete on refused_requests to parley_worker;
