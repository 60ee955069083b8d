-- Members of an advertiser invite others by mail, as members of a publisher do. An invitation is to one or to the other.
alter table invitations add column advertiser_id uuid references advertisers on delete cascade;
alter table invitations alter column publisher_id drop not null;
alter table invitations drop constraint invitations_role_check;
alter table invitations
  add constraint invitation_to_one_of_them check (num_nonnulls(publisher_id, advertiser_id) = 1),
  add constraint invitations_role_check check (
    case when advertiser_id is null then role in ('owner', 'admin', 'developer', 'viewer')
    else role in ('admin', 'editor', 'viewer') end),
  add constraint invitations_advertiser_id_email_key unique (advertiser_id, email),
  add constraint invitation_of_advertiser_member foreign key (advertiser_id, inviter_id)
    references advertiser_members (advertiser_id, user_id) on delete cascade;
create index invitations_of_advertiser_member on invitations (advertiser_id, inviter_id);

create policy advertiser on invitations to parley_advertiser using (advertiser_id = (select (tenant_context())[3]));
grant select, insert, delete, update (role, expires_at, invited_by, inviter_id) on invitations to parley_advertiser;
