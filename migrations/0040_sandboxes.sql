-- Sandboxes: a project on a name below the operator's own domain, which every publisher gets once when it is activated, so that a
-- first answer does not wait for DNS. What a sandbox may not do (take top-ups, show recommendations, change its domain) goes by
-- this column, and only create_sandbox sets it: no login of a plane may write it.
alter table projects add column is_sandbox boolean not null default false;
-- Deleted projects keep their row, so whoever deletes a sandbox gets no other.
create unique index one_sandbox_per_publisher on projects (publisher_id) where is_sandbox;

-- The name is the operator's own, so there is nothing to check and nothing that could lapse. Not checked for the rows that are
-- there: each satisfies the narrower check that this one replaces.
alter table domains drop constraint domains_proven_by_check, add constraint domains_proven_by_check
  check (proven_by in ('dns', 'file', 'operator', 'sandbox')) not valid;
