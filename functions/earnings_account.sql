-- The account of what a project has earned. Made when it is first needed.
create or replace function earnings_account(project uuid) returns uuid language plpgsql as $$
declare account uuid;
begin
  select e.account_id into account from earnings e where e.project_id = project;
  if account is not null then return account; end if;
  perform pg_advisory_xact_lock(hashtextextended('earnings ' || project, 0));
  select e.account_id into account from earnings e where e.project_id = project;
  if account is not null then return account; end if;
  account := gen_random_uuid();
  insert into accounts (id, kind) values (account, 'earnings');
  insert into earnings (project_id, account_id) values (project, account);
  return account;
end $$;

revoke execute on function earnings_account from public;
