-- Credits an advertiser with a payment that was made, once. As ledger_credit_payment does for projects: amount and advertiser
-- are those of the payment's row, so a hostile statement can name no other.
create or replace function ledger_credit_advertiser(id uuid, payment text) returns boolean language plpgsql
security definer set search_path = public, pg_temp as $$
#variable_conflict use_variable
declare p advertiser_payments;
begin
  select * into p from advertiser_payments where session_id = payment and state in ('paid', 'refunded');
  if not found then
    raise exception 'no payment % was made', payment using errcode = 'no_data_found';
  end if;
  perform advertiser_account(p.advertiser_id);
  perform 1 from advertiser_wallets w where w.advertiser_id = p.advertiser_id for no key update;
  return ledger_transfer(id, '00000000-0000-0000-0000-000000000002', p.advertiser_id, p.amount_nanos, 'topup',
    'stripe:' || p.payment_intent, 'paid through Stripe', null);
end $$;

revoke execute on function ledger_credit_advertiser from public;
grant execute on function ledger_credit_advertiser to parley_console;
