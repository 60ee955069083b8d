-- Credits a payment that was made, once. It is all that the console may add to a wallet, and a worker that has charged a saved
-- card, so it takes the amount and the project from the payment's row: a hostile statement there can name no other.
create or replace function ledger_credit_payment(id uuid, payment text, reason text) returns boolean language plpgsql
security definer set search_path = public, pg_temp as $$
#variable_conflict use_variable
declare p payments;
begin
  select * into p from payments where session_id = payment and state in ('paid', 'refunded');
  if not found then
    raise exception 'no payment % was made', payment using errcode = 'no_data_found';
  end if;
  return ledger_transfer(id, '00000000-0000-0000-0000-000000000002', p.project_id, p.amount_nanos, 'topup',
    'stripe:' || p.payment_intent, reason, null);
end $$;

revoke execute on function ledger_credit_payment from public;
grant execute on function ledger_credit_payment to parley_console, parley_worker;
