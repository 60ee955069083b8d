-- The data that the links of recommendations need. The link is null when the offer may no longer be advertised.
-- A function, because readers wait for it: as a statement of its own it is planned each time, which takes longer than it runs.
-- All tables are large, and few of their rows are asked for: by their ids, whatever the planner knows of the tables by now.
create or replace function find_shown(ids uuid[]) returns table (id uuid, link text, advertiser text, legal_name text,
  domain text, adds_click_id boolean, tracking_template text, category text, hint text, label text, state text,
  shown_at timestamptz, network_tag bytea) language plpgsql stable set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare first uuid; last uuid; -- only the partitions of these days are opened
begin
  select i.ordered[1], i.ordered[cardinality(i.ordered)] into first, last
    from (select array_agg(u order by u) as ordered from unnest(ids) u) i;
  return query
    select r.id,
      case when may_be_advertised(a.status, c.status, c.starts_at, c.ends_at, o.review, o.removed_at)
        -- A gateway of an early version wrote no link of its own: then it is the offer's.
        then coalesce(r.link, o.link) end,
      a.name, a.legal_name, a.domain, a.adds_click_id, a.tracking_template, nullif(o.category, ''), r.hint, r.label, r.state,
      r.created_at, r.network_tag
    from recommendations r join advertisers a on a.id = r.advertiser_id
      left join campaigns c on c.id = r.campaign_id left join offers o on o.id = r.offer_id
    where r.id = any (ids) and r.id between first and last;
end $$;

revoke execute on function find_shown from public;
grant execute on function find_shown to parley_gateway;
