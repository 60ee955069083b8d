-- Writes down a click and, if it is valid, moves what it costs.
create or replace function clicks_write(c asked_click, decided text) returns void language plpgsql as $$
declare price int8 := case when decided = 'valid' then c.price_nanos else 0 end; share int8 := 0; account uuid;
begin
  if price > 0 then
    select price * e.share_bps / 10000, e.account_id into strict share, account from earnings e where e.project_id = c.project_id;
    update campaign_days d set spent_nanos = d.spent_nanos + price, clicks = d.clicks + 1
      where d.campaign_id = c.campaign_id and d.day = c.day;
    update campaign_totals t set spent_nanos = t.spent_nanos + price where t.campaign_id = c.campaign_id;
    if share > 0 then
      perform ledger_transfer(c.id, c.advertiser_id, account, share, 'click', 'click:' || c.id, null, null);
    end if;
    if share < price then
      perform ledger_transfer(c.fee_id, c.advertiser_id, '00000000-0000-0000-0000-000000000004', price - share, 'click',
        'click-fee:' || c.id, null, null);
    end if;
  end if;
  insert into clicks (id, recommendation_id, project_id, advertiser_id, campaign_id, offer_id, verdict, price_nanos,
      share_nanos, state, network_tag)
    values (c.id, c.recommendation_id, c.project_id, c.advertiser_id, c.campaign_id, c.offer_id, decided, price, share,
      case when price > 0 then 'pending' else 'unpaid' end, c.network_tag);
end $$;

revoke execute on function clicks_write from public;
