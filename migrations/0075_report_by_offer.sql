-- Reports by offer read what was clicked of thousands of offers at once. What was served is in advertiser_offer_months.
create index advertiser_days_clicked on advertiser_days (advertiser_id, value, day) include (campaign_id, event, times, spent_nanos)
  where dimension = 'offer' and event <> 'serve';
