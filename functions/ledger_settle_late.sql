-- A batch in which some hold was gone: it was sent before (answer what was charged), or its gateway was paused so long
-- that its holds were swept. The latter did answer its caller, so its bill is collected now, once, from what is
-- available, in the wallet and in every budget; what is not available is absorbed. If it had claimed an idempotency key
-- that another call has taken over since, that other call is the one that pays.
create or replace function ledger_settle_late(settles json) returns setof ledger_answer language plpgsql as $$
#variable_conflict use_column
declare s record; c record; paid int8; late_reference text; verdict limits_verdict; applying limit_states[];
begin
  for s in
    select * from json_to_recordset(settles) as s (
      id uuid, project_id uuid, bill_nanos int8, outcome text, has_key boolean, result text)
    order by s.id
  loop
    select charged_nanos, outcome, key_pair_id into c from charges where id = s.id;
    if not found then
      return query select s.id, 'settle', null::int8, 'unknown';
      continue;
    end if;
    paid := c.charged_nanos;
    if c.outcome = 'gateway_died' and s.outcome <> 'gateway_died' and s.bill_nanos > 0 then
      late_reference := 'late:' || s.id;
      if not exists (select 1 from transfers t where t.reference in (late_reference, 'absorbed:' || s.id)) then
        select least(s.bill_nanos, balance_nanos - held_nanos) into paid from wallets where project_id = s.project_id;
        if s.has_key then
          update idempotency_keys set result = s.result where call_id = s.id;
          paid := case when found then paid else 0 end;
        end if;
        select array_agg(t) into applying
          from projects p join wallets w on w.project_id = p.id left join key_pairs k on k.id = c.key_pair_id
            left join calls l on l.id = s.id
            cross join limits_states_of(array[p.publisher_id], array[p.id], array[coalesce(k.counted_as, k.id)],
              array[l.end_user_id], array[l.session_id]) t
          where p.id = s.project_id and w.has_limits;
        verdict := limits_check(applying, paid, 0);
        paid := greatest(verdict.granted, 0);
        if paid > 0 then
          if verdict.counts is not null then
            perform limits_spend(verdict.counts, array_fill(paid, array[cardinality(verdict.counts)]), null, null, 0);
          end if;
          insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference, corrects) values
            (gen_random_uuid(), s.project_id, '00000000-0000-0000-0000-000000000001', paid, 'late_charge',
             late_reference, s.id);
          update wallets set balance_nanos = balance_nanos - paid where project_id = s.project_id;
        end if;
        if s.bill_nanos > paid then
          insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference, corrects) values
            (gen_random_uuid(), '00000000-0000-0000-0000-000000000006', '00000000-0000-0000-0000-000000000001',
             s.bill_nanos - paid, 'absorbed', 'absorbed:' || s.id, s.id);
        end if;
      else
        select coalesce(sum(t.amount_nanos), 0) into paid from transfers t where t.reference = late_reference;
      end if;
    end if;
    return query select s.id, 'settle', paid, null::text;
  end loop;
end $$;

revoke execute on function ledger_settle_late from public;
