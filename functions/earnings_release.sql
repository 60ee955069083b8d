-- Gives publishers what was earned long enough ago: out of pending, into the wallets that pay for calls. At most so many clicks
-- at once; returns how many. Two workers at the same time take different ones.
create or replace function earnings_release(most int, pending_for interval) returns int language plpgsql
security definer set search_path = public, pg_temp as $$
declare p record; released int := 0;
begin
  for p in
    with due as (
      -- The earnings of a deactivated publisher stay pending, so that they can be taken back.
      select k.id from clicks k join projects j on j.id = k.project_id join publishers u on u.id = j.publisher_id
      where k.state = 'pending' and k.id < first_id_of(now() - pending_for) and u.activated_at is not null
      order by k.id limit most for no key update of k skip locked
    ), given as (
      update clicks k set state = 'released' from due where k.id = due.id returning k.project_id, k.share_nanos
    )
    select g.project_id, count(*)::int as clicks, sum(g.share_nanos)::int8 as amount from given g group by 1 order by 1
  loop
    released := released + p.clicks;
    if p.amount > 0 then
      perform ledger_transfer(id, earnings_account(p.project_id), p.project_id, p.amount, 'ad_revenue', 'earnings:' || id,
        p.clicks || case p.clicks when 1 then ' click' else ' clicks' end, null) from gen_random_uuid() id;
      update earnings e set released_nanos = e.released_nanos + p.amount where e.project_id = p.project_id;
    end if;
  end loop;
  return released;
end $$;

revoke execute on function earnings_release from public;
grant execute on function earnings_release to parley_worker;
