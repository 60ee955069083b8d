-- What an operator wants sent with every request of a route, beside what callers ask for: for what a provider wants and
-- nobody foresaw.
alter table deployments
  add column extra_body jsonb check (jsonb_typeof(extra_body) = 'object');
