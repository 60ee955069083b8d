-- Why the reply of a call has a recommendation, or none: what the counts of recommendation_outcomes were made of. Null: its
-- project wanted none, or a gateway of the version before settled it.
alter table calls
  add column recommendation_outcome text;

-- What a provider's routes refuse is told to publishers; its address and whatever else its settings say is not.
alter table providers
  add column unsupported_fields jsonb generated always as (
    case when jsonb_typeof(settings -> 'unsupportedFields') = 'array' then settings -> 'unsupportedFields' else '[]' end
  ) stored;
grant select (unsupported_fields) on providers to parley_console;
