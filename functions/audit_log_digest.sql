-- One digest over the content of an audit log entry and the digest of the entry before it. Its input, and the form of that,
-- must never change: the digests of all existing entries were made with it.
create or replace function audit_log_digest(r audit_log) returns bytea language sql stable as $$
  select sha256(r.previous_digest || convert_to(jsonb_build_array(r.publisher_id, r.seq, extract(epoch from r.at),
    r.actor_id, r.actor, r.action, r.subject, r.project_id, r.ip, r.user_agent, r.details)::text, 'utf8'))
$$;

revoke execute on function audit_log_digest from public;
grant execute on function audit_log_digest to parley_tenant, parley_advertiser, parley_gateway, parley_console, parley_worker;
