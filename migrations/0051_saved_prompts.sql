-- Prompts that a project's team keeps for the playground: what is asked, of which model and with which settings. Erased with
-- the project, in the transaction that deletes it (src/actions/projects/projects.ts).
create table saved_prompts (
  id uuid primary key,
  project_id uuid not null references projects,
  name text not null check (length(name) between 1 and 100),
  model text not null check (length(model) between 1 and 200),
  -- System prompt, messages and settings: src/rules/projects/saved-prompts.ts, which limits them to 60 KB. The database writes JSON
  -- with spaces and sorts its fields, so its own limit is wider.
  content jsonb not null check (octet_length(content::text) <= 131072),
  -- Who saved it last. Null: they have left.
  saved_by uuid references users on delete set null,
  saved_at timestamptz not null default now()
);
create index saved_prompts_of_project on saved_prompts (project_id, saved_at);
create index saved_prompts_of_user on saved_prompts (saved_by);

alter table saved_prompts enable row level security;
create policy tenant on saved_prompts to parley_tenant using (project_id = (select tenant_project()));
create policy planes on saved_prompts to parley_gateway, parley_console, parley_worker, parley_matcher using (true);
grant select, insert, update (name, model, content, saved_by, saved_at), delete on saved_prompts to parley_tenant;
