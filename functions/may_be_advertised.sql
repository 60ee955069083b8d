-- May an offer of a campaign and advertiser be advertised now, as far as people decide it? Stock is another matter.
-- One expression, so that it becomes part of whatever asks, and no call of its own.
create or replace function may_be_advertised(advertiser_status text, campaign_status text, starts_at timestamptz,
  ends_at timestamptz, review text, removed_at timestamptz) returns boolean language sql stable as $$
  select advertiser_status = 'active' and campaign_status = 'active'
    and (starts_at is null or starts_at <= now()) and (ends_at is null or ends_at > now())
    and review = 'approved' and removed_at is null
$$;

revoke execute on function may_be_advertised from public;
grant execute on function may_be_advertised to parley_gateway;
