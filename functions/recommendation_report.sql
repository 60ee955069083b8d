-- Counts a reader's report of a recommendation, and stops its offer in that project at the third one that counts. Of one
-- recommendation and of one network, only the first counts. False: it did not. What was recommended in test mode, no reader saw.
-- Runs with its owner's rights, because a gateway itself may stop no offer. The lock lets two reports at once not both be the second.
create or replace function recommendation_report(recommendation uuid, given text, tag bytea) returns boolean language plpgsql
security definer set search_path = public, pg_temp as $$
declare shown recommendations;
begin
  select * into shown from recommendations r where r.id = recommendation and r.state <> 'test';
  if not found then return false; end if;
  perform pg_advisory_xact_lock(hashtextextended('reports ' || shown.project_id || ' ' || shown.offer_id, 0));
  insert into recommendation_reports (recommendation_id, project_id, offer_id, reason, network_tag)
    values (recommendation, shown.project_id, shown.offer_id, given, tag) on conflict do nothing;
  if not found then return false; end if;
  insert into offer_stops (project_id, offer_id)
    select shown.project_id, o.id from offers o where o.id = shown.offer_id
      and (select count(*) from recommendation_reports p
        where p.project_id = shown.project_id and p.offer_id = o.id and p.resolved_at is null) >= 3
    on conflict do nothing;
  return true;
end $$;

revoke execute on function recommendation_report from public;
grant execute on function recommendation_report to parley_gateway;
