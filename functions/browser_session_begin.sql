-- Begins a browser session: {id, project_id, key_pair_id, secret_digest, secret_version, secret_last4, end_user_id, models,
-- max_tokens, origins, calls_max, money_nanos, seconds, network_tag}. Answers when it ends, which is not after its pair does, or why there is
-- none: a code of src/rules/errors.ts, or too_many_sessions where the pair has `alive_max` of them.
-- Its money is a budget of its own, so the wallet must say that there are limits, or the ledger would not look for it. Whoever
-- takes that word back locks the wallet for update, which waits for the lock that is taken here; holds do not.
-- It waits for others only a little, and fails then (55P03): each one that waits has a connection of the gateway's pool, which all
-- other projects need. Sessions of one pair wait for each other, but not for as long.
-- Runs with its owner's rights: the gateway itself may write neither limits nor wallets.
create or replace function browser_session_begin(asked json, alive_max int, out ends_at timestamptz, out refusal text)
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '200ms' as $$
declare a record; pair record; limited boolean;
begin
  select * into strict a from json_to_record(asked) as a (
    id uuid, project_id uuid, key_pair_id uuid, secret_digest bytea, secret_version int2, secret_last4 text, end_user_id uuid,
    models text[], max_tokens int, origins text[], calls_max int, money_nanos int8, seconds int, network_tag bytea);
  -- The rows that the new ones refer to are locked now, top down, as everywhere else: later, two could wait for each other.
  perform from publishers u where u.id = (select p.publisher_id from projects p where p.id = a.project_id) for key share;
  perform from projects p where p.id = a.project_id for key share;
  -- Locked, so that the alive ones are counted exactly, and the pair does not end in between.
  select p.publisher_id, k.expires_at, case
      when k.active is not true or k.expires_at <= now() or p.archived_at is not null then 'key_inactive'
      when u.activated_at is null then 'account_not_activated'
      when d.verified_at is null then 'domain_not_verified'
    end as standing into pair
  from key_pairs k
    join projects p on p.id = k.project_id
    join publishers u on u.id = p.publisher_id
    left join domains d on d.project_id = k.project_id
  where k.id = a.key_pair_id and k.project_id = a.project_id for no key update of k;
  if not found or pair.standing is not null then
    refusal := coalesce(pair.standing, 'key_inactive');
    return;
  end if;
  if (select count(*) from browser_sessions s where s.key_pair_id = a.key_pair_id and s.expires_at > now()) >= alive_max then
    refusal := 'too_many_sessions';
    return;
  end if;
  perform from wallets w where w.project_id = a.project_id for key share;
  select w.has_limits into strict limited from wallets w where w.project_id = a.project_id;
  if not limited then
    update wallets w set has_limits = true where w.project_id = a.project_id;
  end if;
  ends_at := least(now() + a.seconds * interval '1 second', pair.expires_at);
  insert into browser_sessions (id, project_id, key_pair_id, secret_digest, secret_version, secret_last4, end_user_id, models,
      max_tokens, origins, calls_max, expires_at, network_tag)
    values (a.id, a.project_id, a.key_pair_id, a.secret_digest, a.secret_version, a.secret_last4, a.end_user_id, a.models,
      a.max_tokens, a.origins, a.calls_max, ends_at, a.network_tag);
  insert into limits (scope, subject, publisher_id, project_id, total_nanos)
    values ('session', a.id, pair.publisher_id, a.project_id, a.money_nanos);
  insert into limit_counts (scope, subject, project_id) values ('session', a.id, a.project_id);
end $$;

revoke execute on function browser_session_begin from public;
grant execute on function browser_session_begin to parley_gateway;
