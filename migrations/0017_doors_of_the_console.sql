-- Accounts that strangers made, invitations of people who left, and trial credit that was farmed.

-- Whoever signs up with somebody else's address must not keep its owner out with a second factor.
delete from two_factors t using users u where u.id = t.user_id and not u.email_verified;
update users set two_factor_enabled = false where not email_verified and two_factor_enabled;
alter table users add constraint second_factor_after_confirmation check (email_verified or not two_factor_enabled);

-- An invitation belongs to its inviter and ends with their membership. Older ones are given to whom the audit log names,
-- and those that this person may not send any more are withdrawn.
alter table invitations add column inviter_id uuid;
update invitations i set inviter_id = (
  select l.actor_id from audit_log l
  where l.publisher_id = i.publisher_id and l.action = 'member.invited' and l.subject = i.email
  order by l.seq desc limit 1);
delete from invitations i where not exists (
  select from memberships m where m.publisher_id = i.publisher_id and m.user_id = i.inviter_id
    and (m.role = 'owner' or (m.role = 'admin' and i.role <> 'owner')));
alter table invitations alter column inviter_id set not null,
  add constraint invitation_of_member foreign key (publisher_id, inviter_id)
    references memberships (publisher_id, user_id) on delete cascade;
create index invitations_of_inviter on invitations (publisher_id, inviter_id);
grant update (inviter_id) on invitations to parley_tenant;

-- Trial credit is granted for a verified domain, once for each of its claims: the domain that was paid for, of the site and
-- of the address, or the mailbox (src/rules/trial-credit.ts). The key of this table is what lets one of many at once win.
alter table trial_addresses rename to trial_claims;
alter index trial_addresses_pkey rename to trial_claims_pkey;
-- A console from before this one calls this with each new project. It grants nothing; the worker does, for the domain.
create or replace function grant_trial_credit(publisher uuid) returns boolean language plpgsql security definer
set search_path = public, pg_temp as $$ begin return false; end $$;
create function grant_trial_credit(publisher uuid, project uuid, claims text[]) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare amount int8;
begin
  select p.trial_credit_nanos into amount from publishers p
    where p.id = publisher and p.activated_at is not null and p.trial_credit_nanos > 0 for update;
  if not found or not exists (
    select from projects j join domains d on d.project_id = j.id
    where j.id = project and j.publisher_id = publisher and j.archived_at is null and d.verified_at is not null) then
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
revoke execute on function grant_trial_credit(uuid, uuid, text[]) from public;
grant execute on function grant_trial_credit(uuid, uuid, text[]) to parley_tenant;
