-- Brings the ledger to where a payment's returns stand, whatever was posted before: in the end the wallet has of the
-- payment what is left after all returns that stand, and never less than nothing. Gives back first, so that what
-- another return could not take then is taken now, and not kept by the wallet. What an operator has reversed by hand
-- stays as it is.
-- What goes back has its share of the tax in it, which never was credit: of a payment with tax, a return takes in proportion.
-- Runs with its owner's rights: with ledger_credit_payment it is what console and worker may do to a wallet by
-- payments, and no more.
create or replace function ledger_settle_returns(payment text, out taken int8, out owed int8, out absorbed int8,
  out given_back int8) language plpgsql security definer set search_path = public, pg_temp as $$
declare p payments; credited uuid; r payment_returns; t record; took record; missing int8; posted int;
begin
  taken := 0;
  owed := 0;
  absorbed := 0;
  given_back := 0;
  select * into p from payments where payment_intent = payment;
  select id into credited from transfers where reference = 'stripe:' || payment and credit_account = p.project_id;
  if credited is null then
    return;
  end if;
  perform 1 from wallets w where w.project_id = p.project_id for no key update;
  for r in
    select * from payment_returns where payment_intent = payment order by reinstated desc, created_at, id
  loop
    missing := div(r.amount_nanos::numeric * p.amount_nanos, p.amount_nanos + p.tax_nanos)::int8;
    posted := 0;
    for t in
      select b.id, b.kind, b.amount_nanos, u.reference as undone_by
      from transfers b left join transfers u on u.corrects = b.id and u.kind = 'reversal'
      where b.corrects = credited and (starts_with(b.reference, 'stripe:' || r.id || ':')
        or starts_with(b.reference, 'absorbed:stripe:' || r.id || ':'))
    loop
      posted := posted + 1;
      if t.undone_by is null
        and (r.reinstated or (t.kind = 'absorbed' and ledger_effect(p.project_id, credited) > 0)) then
        perform ledger_reverse(gen_random_uuid(), t.id, 'reinstated:' || t.id,
          case when r.reinstated then 'the dispute ended well' else 'it can be taken now' end);
        if t.kind = 'absorbed' then
          absorbed := absorbed - t.amount_nanos;
        else
          given_back := given_back + t.amount_nanos;
        end if;
      elsif t.undone_by is distinct from 'reinstated:' || t.id then
        missing := missing - t.amount_nanos;
      end if;
    end loop;
    if missing > 0 and not r.reinstated then
      select * into took from ledger_take_owing(p.project_id, credited, missing, r.kind,
        'stripe:' || r.id || ':' || posted + 1, 'by Stripe');
      taken := taken + missing - took.absorbed;
      owed := owed + took.owed;
      absorbed := absorbed + took.absorbed;
    end if;
  end loop;
  update payment_returns set settled_nanos = amount_nanos where payment_intent = payment;
  update payments set state = case when amount_nanos + tax_nanos <= (
      select coalesce(sum(b.amount_nanos), 0) from payment_returns b
      where b.payment_intent = payment and not b.reinstated) then 'refunded' else 'paid' end
    where session_id = p.session_id;
end $$;

revoke execute on function ledger_settle_returns from public;
grant execute on function ledger_settle_returns to parley_console, parley_worker;
