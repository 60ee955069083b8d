-- A click on what a project showed that was deleted since, or whose publisher was deactivated, is free. Not checked for the rows
-- that are there: each satisfies the narrower check that this one replaces.
alter table clicks drop constraint clicks_verdict_check, add constraint clicks_verdict_check
  check (verdict in ('valid', 'test', 'not_delivered', 'head', 'prefetch', 'agent', 'bot', 'previewer', 'not_a_browser',
    'data_centre', 'same_network', 'too_fast', 'too_old', 'project_closed', 'too_many', 'repeat', 'over_budget', 'no_credit'))
  not valid;
