-- Clicks are decided and paid for by the batch: functions/clicks_before.sql and functions/clicks_pay.sql have taken their place.
drop function if exists clicks_decide(asked_click);
drop function if exists clicks_write(asked_click, text);
