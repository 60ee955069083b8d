-- Who was erased, for some days: a gateway that saw them shortly before writes that down later, and the roll-up adds up their
-- calls later. Neither may bring them back.
create table end_user_erasures (
  project_id uuid not null references projects,
  end_user_id uuid not null,
  erased_at timestamptz not null,
  primary key (project_id, end_user_id)
);
create index end_user_erasures_erased_at on end_user_erasures (erased_at);

alter table end_user_erasures enable row level security;
create policy tenant on end_user_erasures to parley_tenant using (project_id = (select tenant_project()));
create policy planes on end_user_erasures to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
grant select, insert, update on end_user_erasures to parley_tenant;
grant select on end_user_erasures to parley_gateway;
grant select, delete on end_user_erasures to parley_worker;
