-- A request that was delayed on its way, or sent again after a pause, may have held credit once more for a call that
-- was settled or swept meanwhile. Its charge exists, so that hold cannot become another one: it is given back.
create or replace function ledger_give_back(settles json) returns void language sql as $$
  with risen as (
    delete from holds h using json_to_recordset(settles) as s (id uuid), charges c where h.id = s.id and c.id = h.id
    returning h.project_id, h.amount_nanos, h.counts
  ), uncounted as (
    update limit_counts c set held_nanos = c.held_nanos - t.held, open_holds = c.open_holds - t.calls
    from (
      select u.id, sum(r.amount_nanos)::int8 as held, count(*)::int as calls
      from risen r cross join unnest(r.counts) as u (id) group by u.id
    ) t
    where c.id = t.id
  )
  update wallets w set held_nanos = w.held_nanos - t.held, open_holds = w.open_holds - t.calls
  from (select project_id, sum(amount_nanos)::int8 as held, count(*)::int as calls from risen group by project_id) t
  where w.project_id = t.project_id
$$;

revoke execute on function ledger_give_back from public;
