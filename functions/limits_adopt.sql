-- Begins to count for a limit that is new: what was spent before (rolled up, and what is not rolled up yet), and the holds that
-- are open.
create or replace function limits_adopt(counted int8, asked limits) returns void language plpgsql as $$
declare
  today timestamptz := date_trunc('day', now(), 'UTC');
  this_week timestamptz := date_trunc('week', now(), 'UTC');
  this_month timestamptz := date_trunc('month', now(), 'UTC');
  rolled_up_through timestamptz := coalesce((select through from usage_progress), '2000-01-01');
  pairs uuid[] := (select array_agg(k.id) from key_pairs k where asked.subject in (k.id, k.counted_as));
begin
  with project as (
    select p.id from projects p
    where p.publisher_id = asked.publisher_id and (asked.project_id is null or p.id = asked.project_id)
  ), spent as (
    select u.starts_at as at, u.charged_nanos from project join usage_days u on u.project_id = project.id
    where asked.scope <> 'key_pair' or u.key_pair_id = any (pairs)
    union all
    select m.settled_at, m.charged_nanos from project join charges m on m.project_id = project.id
    where m.settled_at > rolled_up_through and m.id >= first_id_of(rolled_up_through - interval '38 hours')
      and (asked.scope <> 'key_pair' or m.key_pair_id = any (pairs))
    union all
    -- Charges for dead gateways' calls are collected late, and are in no roll-up.
    select t.created_at, t.amount_nanos from project join transfers t on t.debit_account = project.id
      join charges m on m.id = t.corrects
    where t.kind = 'late_charge' and (asked.scope <> 'key_pair' or m.key_pair_id = any (pairs))
  ), adopted as (
    update holds h set counts = h.counts || counted from project
    where h.project_id = project.id and (asked.scope <> 'key_pair' or h.key_pair_id = any (pairs))
    returning h.amount_nanos
  )
  update limit_counts c set
    held_nanos = coalesce((select sum(amount_nanos) from adopted), 0), open_holds = (select count(*) from adopted),
    day_started_at = today, week_started_at = this_week, month_started_at = this_month,
    (day_nanos, week_nanos, month_nanos, total_nanos) = (
      select coalesce(sum(s.charged_nanos) filter (where s.at >= today), 0),
        coalesce(sum(s.charged_nanos) filter (where s.at >= this_week), 0),
        coalesce(sum(s.charged_nanos) filter (where s.at >= this_month), 0), coalesce(sum(s.charged_nanos), 0)
      from spent s)
  where c.id = counted;
end $$;

revoke execute on function limits_adopt from public;
