-- The playground of the console, and how a project's first steps are put away.

-- The playground calls the gateway as any program does, with a pair of its own: one for each project, which lives for an
-- hour and is then made anew in the same row. Its calls are told apart in the log; it is nobody's to manage.
alter table key_pairs add column purpose text not null default 'calls' check (purpose in ('calls', 'playground'));
create unique index key_pairs_of_playground on key_pairs (project_id) where purpose = 'playground';

-- When the finished list of first steps was put away.
alter table projects add column onboarding_dismissed_at timestamptz;
grant update (onboarding_dismissed_at) on projects to parley_tenant;
