-- Counts a recommendation where it becomes one that a reader was shown, whichever version of a gateway writes that.
create or replace function shown_count() returns trigger language plpgsql
security definer set search_path = public, pg_temp as $$
declare shown uuid[];
begin
  if tg_op = 'INSERT' then
    select array_agg(n.id) into shown from new_rows n where n.state = 'delivered';
  else
    select array_agg(n.id) into shown from new_rows n join old_rows o on o.id = n.id
      where n.state = 'delivered' and o.state <> 'delivered';
  end if;
  if shown is null then return null; end if;
  insert into recommendation_days as d (project_id, day, advertiser_id, category, shown, clicks, earned_nanos)
    select n.project_id, (time_of_id(n.id) at time zone 'utc')::date, n.advertiser_id,
      coalesce(split_part(o.category, ' > ', 1), ''), count(*), 0, 0
    from new_rows n left join offers o on o.id = n.offer_id
    where n.id = any (shown) group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (project_id, day, advertiser_id, category) do update set shown = d.shown + excluded.shown;
  return null;
end $$;

revoke execute on function shown_count from public;

create or replace trigger recommendations_shown_first after insert on recommendations
  referencing new table as new_rows for each statement execute function shown_count();
create or replace trigger recommendations_shown_later after update on recommendations
  referencing old table as old_rows new table as new_rows for each statement execute function shown_count();
