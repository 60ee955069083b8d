-- What a campaign could spend when its recommendation was shown. A click on it is paid for within these budgets, also when the
-- advertiser has lowered them since: else it would have all that was shown for them for nothing.
alter table recommendations
  -- Null: a gateway of the version before wrote it. The highest number there is: the campaign had no such budget.
  add column daily_budget_nanos int8,
  add column total_budget_nanos int8;

-- Matchers hear of a lower budget some seconds late. Gateways look once more before something is shown.
grant select on campaign_days, campaign_totals to parley_gateway;
