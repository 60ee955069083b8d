-- Which versions of the encoder are in use: vectors of one that nobody has used for a week are erased. All that have vectors
-- today count as used today, because a matcher of the version before does not say which it uses.
create table encoders (
  model text primary key check (length(model) between 1 and 100),
  used_at timestamptz not null default now()
);

-- One step for each version, and not one for each vector.
insert into encoders (model)
  with recursive models as (
    (select model from text_vectors order by model limit 1)
    union all
    select (select v.model from text_vectors v where v.model > m.model order by v.model limit 1)
    from models m where m.model is not null)
  select model from models where model is not null;

grant select, insert, update on encoders to parley_matcher;
grant select on encoders to parley_worker;
