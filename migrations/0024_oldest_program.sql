-- The newest migration that a program must know to work with this one; null: every program does. A program that a newer
-- version's migration leaves behind refuses to start, instead of failing in its first call.
alter table migrations add column oldest_program text;
grant select on migrations to parley_gateway, parley_console, parley_worker, parley_matcher;
