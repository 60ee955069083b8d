-- Who deletes an account does not lose what is pending without being told.
grant select (project_id, pending_nanos) on earnings to parley_console;
