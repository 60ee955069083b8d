-- The movements on the wallet of the transaction's advertiser, newest first, without the clicks that were paid for: those are
-- sums of days. For a click that was taken back, neither reference nor reason is returned, because the account that gave the
-- money back may be a publisher's. Runs with its owner's rights, and reads one advertiser's movements only.
create or replace function advertiser_movements(most int) returns table (id uuid, kind text,
  delta_nanos int8, reference text, reason text, created_at timestamptz) language sql stable security definer
set search_path = public, pg_temp as $$
  select t.id, t.kind, case when t.credit_account = a.id then t.amount_nanos else -t.amount_nanos end,
    case when t.reference like 'click%' then null else t.reference end,
    case when t.reference like 'click%' then null else t.reason end, t.created_at
  from (select tenant_advertiser() as id) a join transfers t on a.id in (t.debit_account, t.credit_account)
  where t.kind <> 'click'
  order by t.created_at desc, t.id desc limit least(most, 200)
$$;

revoke execute on function advertiser_movements from public;
grant execute on function advertiser_movements to parley_advertiser;
