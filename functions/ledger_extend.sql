-- Extensions of holds: [{n, id, project_id, extension, want_nanos, min_nanos}]. Answers the hold's new total; unchanged
-- means refused, by the wallet or by a budget. Only holds of the project whose wallet pays: otherwise one project could take
-- from another's.
create or replace function ledger_extend(extensions json) returns setof ledger_answer language plpgsql as $$
#variable_conflict use_column
declare e record; h record; available int8; granted int8;
begin
  for e in
    select * from json_to_recordset(extensions) as e (
      n int, id uuid, project_id uuid, extension int2, want_nanos int8, min_nanos int8) order by e.n
  loop
    select amount_nanos, extension, counts into h from holds where id = e.id and project_id = e.project_id for update;
    if not found then
      return query select e.id, 'extend', 0::int8, 'unknown';
      continue;
    end if;
    if h.extension < e.extension then
      select balance_nanos - held_nanos into available from wallets where project_id = e.project_id;
      if h.counts is not null then
        available := least(available, limits_left(h.counts));
      end if;
      granted := least(e.want_nanos, available);
      if granted > 0 and granted >= e.min_nanos then
        update holds set amount_nanos = amount_nanos + granted, extension = e.extension where id = e.id;
        update wallets set held_nanos = held_nanos + granted where project_id = e.project_id;
        if h.counts is not null then
          perform limits_hold(h.counts, array_fill(granted, array[cardinality(h.counts)]), 0);
        end if;
        h.amount_nanos := h.amount_nanos + granted;
      end if;
    end if;
    return query select e.id, 'extend', h.amount_nanos, null::text;
  end loop;
end $$;

revoke execute on function ledger_extend from public;
