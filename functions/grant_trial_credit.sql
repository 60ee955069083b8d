-- Grants the trial credit that signing up promised, once: the row's lock and the transfer's reference both say so. It
-- is for a verified domain, once for each of its claims: the domain that was paid for, of the site and of the address,
-- or the mailbox (src/rules/billing/trial-credit.ts). The key of trial_claims is what lets one of many at once win.
-- Runs with its owner's rights, because the console's tenant role moves no money; a tenant's own login gets credit for
-- its own publisher only. Whoever has, or had, a sandbox gets it there and nowhere else. A console from before domains were asked for names the publisher alone, with each new
-- project: it is granted nothing, and the worker grants it for the domain.
create or replace function grant_trial_credit(publisher uuid, project uuid default null, claims text[] default null)
returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
declare amount int8;
begin
  if pg_has_role(session_user, 'parley_tenant', 'member') and not pg_has_role(session_user, current_user, 'member')
    and publisher is distinct from tenant_publisher() then
    raise exception 'publisher % is not the tenant of this transaction', publisher using errcode = 'insufficient_privilege';
  end if;
  select p.trial_credit_nanos into amount from publishers p
    where p.id = publisher and p.activated_at is not null and p.trial_credit_nanos > 0 for update;
  if not found or not exists (
    select from projects j join domains d on d.project_id = j.id
    where j.id = project and j.publisher_id = publisher and j.archived_at is null and d.verified_at is not null
      and (j.is_sandbox or not exists (select from projects s where s.publisher_id = publisher and s.is_sandbox))) then
    return false;
  end if;
  update publishers set trial_credit_nanos = 0 where id = publisher;
  begin
    insert into trial_claims (digest) select sha256(convert_to(claim, 'UTF8')) from unnest(claims) claim order by 1;
  exception when unique_violation then
    return false; -- none of them is kept: what is left of them is still somebody else's to claim
  end;
  return ledger_transfer(gen_random_uuid(), '00000000-0000-0000-0000-000000000003', project, amount, 'grant',
    'trial:' || publisher, 'trial credit', null);
end $$;

revoke execute on function grant_trial_credit from public;
grant execute on function grant_trial_credit to parley_tenant, parley_worker;
