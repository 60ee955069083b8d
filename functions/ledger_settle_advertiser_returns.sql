-- Brings an advertiser's wallet to where the returns of a payment stand, as ledger_settle_returns does for projects: what a
-- return took is given back when it was reinstated, and what is missing of the others is taken, never more than is left of
-- that payment. Gives back first, so that what another return could not take then is taken now, and not kept by the wallet.
-- An advertiser's wallet owes nothing: what was spent on clicks by then is the operator's loss, until there is something to take.
create or replace function ledger_settle_advertiser_returns(payment text, out taken int8, out absorbed int8,
  out given_back int8) language plpgsql security definer set search_path = public, pg_temp as $$
declare p advertiser_payments; credited uuid; r payment_returns; t record; missing int8; posted int; due int8; back int8 := 0;
  refunds constant uuid := '00000000-0000-0000-0000-000000000005';
  losses constant uuid := '00000000-0000-0000-0000-000000000006';
begin
  taken := 0;
  absorbed := 0;
  given_back := 0;
  select * into p from advertiser_payments where payment_intent = payment;
  select id into credited from transfers where reference = 'stripe:' || payment and credit_account = p.advertiser_id;
  if credited is null then
    return;
  end if;
  perform 1 from advertiser_wallets w where w.advertiser_id = p.advertiser_id for no key update;
  for r in select * from payment_returns where payment_intent = payment order by reinstated desc, created_at, id loop
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
        and (r.reinstated or (t.kind = 'absorbed' and exists (select from advertiser_wallets w
          where w.advertiser_id = p.advertiser_id and least(w.balance_nanos, ledger_effect(p.advertiser_id, credited)) > 0))) then
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
    continue when missing <= 0 or r.reinstated;
    select greatest(least(missing, w.balance_nanos, ledger_effect(p.advertiser_id, credited)), 0) into strict due
      from advertiser_wallets w where w.advertiser_id = p.advertiser_id;
    if due > 0 then
      perform ledger_transfer(gen_random_uuid(), p.advertiser_id, refunds, due, r.kind, 'stripe:' || r.id || ':' || posted + 1,
        'by Stripe', credited);
    end if;
    if missing > due then
      perform ledger_transfer(gen_random_uuid(), losses, refunds, missing - due, 'absorbed',
        'absorbed:stripe:' || r.id || ':' || posted + 1, 'by Stripe', credited);
    end if;
    taken := taken + due;
    absorbed := absorbed + missing - due;
  end loop;
  update payment_returns set settled_nanos = amount_nanos where payment_intent = payment;
  select coalesce(sum(b.amount_nanos), 0) into back from payment_returns b where b.payment_intent = payment and not b.reinstated;
  update advertiser_payments set state = case when amount_nanos + tax_nanos <= back then 'refunded' else 'paid' end
    where session_id = p.session_id;
end $$;

revoke execute on function ledger_settle_advertiser_returns from public;
grant execute on function ledger_settle_advertiser_returns to parley_console;
