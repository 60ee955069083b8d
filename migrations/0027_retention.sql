-- Everything that grows is bounded: what a worker needs to forget it, in small steps.

-- What a reader was shown, kept with the record as its link is: an offer that is gone can then be erased. Rows of before are
-- completed by a worker, some at a time, before it erases the first offer.
alter table recommendations add column headline text;
grant select (headline) on offers to parley_gateway;
grant select (id, offer_id, headline), update (headline) on recommendations to parley_worker;

grant select (id, removed_at, review, reviewed_at, headline, text_hash), delete on offers to parley_worker;
grant select (model, digest), delete on text_vectors to parley_worker;
grant select (context_hints, negative_hints) on campaigns to parley_worker;
grant select (id, feed_id, started_at), delete on feed_runs to parley_worker;
grant select (project_id, hour, outcome), delete on recommendation_outcomes to parley_worker;

grant delete on conversations, messages, conversation_sums, usage_hours, mails to parley_worker;
-- Locking the row of a conversation that is forgotten needs this right on any column.
grant update (last_call_at) on conversations to parley_worker;
grant select (id, expires_at), delete on invitations to parley_worker;
