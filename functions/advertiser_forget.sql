-- Forgets an advertiser that somebody has signed up and left behind, so that nobody keeps the name of another company for ever: one
-- that was never activated, for which nobody can act, that has never paid and is not about to, and has nothing imported. Returns
-- whether it was such a one. Runs with its owner's rights, because the console itself may delete no advertiser.
create or replace function advertiser_forget(advertiser uuid) returns boolean language plpgsql
security definer set search_path = public, pg_temp as $$
begin
  perform from advertisers a where a.id = advertiser and a.status = 'pending' for update;
  if not found
    or exists (select from advertiser_members m where m.advertiser_id = advertiser)
    or exists (select from advertiser_wallets w where w.advertiser_id = advertiser)
    or exists (select from advertiser_payments p where p.advertiser_id = advertiser and p.state <> 'expired')
    or exists (select from feeds f where f.advertiser_id = advertiser) then
    return false;
  end if;
  delete from advertiser_payments p where p.advertiser_id = advertiser;
  delete from campaigns c where c.advertiser_id = advertiser;
  delete from advertisers a where a.id = advertiser;
  return true;
end $$;

revoke execute on function advertiser_forget from public;
grant execute on function advertiser_forget to parley_console;
