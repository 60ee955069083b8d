-- A project may show everybody which recommendations stood in its replies: who paid, what was said, how often. Off unless its
-- publisher wants it. What the page is made of is read from recommendations, and nothing more of them than this.
alter table monetization add column is_library_public boolean not null default false;
grant select (project_id, is_library_public) on monetization to parley_console;
grant select (id, project_id, advertiser_id, headline, label, state) on recommendations to parley_console;
