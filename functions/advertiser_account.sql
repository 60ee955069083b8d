-- The account and the wallet of an advertiser. Made when credit first arrives.
create or replace function advertiser_account(advertiser uuid) returns uuid language plpgsql as $$
begin
  insert into accounts (id, kind) values (advertiser, 'advertiser') on conflict do nothing;
  insert into advertiser_wallets (advertiser_id) values (advertiser) on conflict do nothing;
  return advertiser;
end $$;

revoke execute on function advertiser_account from public;
