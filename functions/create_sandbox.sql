-- Makes the one sandbox of an activated publisher: the project with its wallet, its domain, which needs no proof, and the limits of
-- the operator; and grants it the trial credit that signing up promised, for these claims. False: the publisher is not activated,
-- or has or had one: the index decides between those who come at once. `wanted`: {id, name, domain, token, requests_per_minute,
-- concurrent_calls, day_nanos}. Null claims: there is nobody to grant anything to.
-- Runs with its owner's rights, because the console, outside of a tenant's transaction, makes no projects and moves no money.
create or replace function create_sandbox(publisher uuid, wanted json, claims text[]) returns boolean language plpgsql
security definer set search_path = public, pg_temp as $$
declare project uuid := wanted ->> 'id';
begin
  perform from publishers p where p.id = publisher and p.activated_at is not null for update;
  if not found then
    return false;
  end if;
  insert into projects (id, publisher_id, name, requests_per_minute, concurrent_calls, is_sandbox)
    select w.id, publisher, w.name, w.requests_per_minute, w.concurrent_calls, true
    from json_to_record(wanted) as w (id uuid, name text, requests_per_minute int, concurrent_calls int)
    on conflict (publisher_id) where is_sandbox do nothing;
  if not found then
    return false;
  end if;
  insert into accounts (id, kind, project_id) values (project, 'wallet', project);
  insert into wallets (project_id) values (project);
  insert into domains (project_id, name, verification_token, verified_at, proven_by, next_check_at)
    values (project, wanted ->> 'domain', wanted ->> 'token', now(), 'sandbox', null);
  perform limits_set(json_populate_record(null::limits, json_build_object('scope', 'project', 'subject', project,
    'publisher_id', publisher, 'project_id', project, 'day_nanos', wanted ->> 'day_nanos')));
  if claims is not null then
    perform grant_trial_credit(publisher, project, claims);
  end if;
  return true;
end $$;

revoke execute on function create_sandbox from public;
grant execute on function create_sandbox to parley_console;
