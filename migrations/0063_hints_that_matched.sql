-- Which of a campaign's hints decided that its offer fits: advertisers pay for clicks and want to know which of their hints
-- earned them. Null: the offer's own words were nearer than any hint.
alter table recommendations add column hint text;
