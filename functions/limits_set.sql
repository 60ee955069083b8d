-- Sets the limits of a publisher, project, key pair, every end user of a project, or one of them; all null removes them. A
-- budget counts what was spent in its day, week or month before it was set, and holds that are open; for end users, it counts
-- from their first call under any limit.
-- Runs with its owner's rights, because the console's tenant role may not lock wallets; a tenant's own login sets limits of
-- its own publisher only, and not those of its sandbox: they are the operator's.
create or replace function limits_set(asked limits) returns void language plpgsql
security definer set search_path = public, pg_temp as $$
declare counted int8;
begin
  if pg_has_role(session_user, 'parley_tenant', 'member') and not pg_has_role(session_user, current_user, 'member')
    and asked.publisher_id is distinct from tenant_publisher() then
    raise exception 'publisher % is not the tenant of this transaction', asked.publisher_id
      using errcode = 'insufficient_privilege';
  end if;
  if asked.scope = 'project' and pg_has_role(session_user, 'parley_tenant', 'member')
    and not pg_has_role(session_user, current_user, 'member')
    and exists (select from projects p where p.id = asked.subject and p.is_sandbox) then
    raise exception 'the limits of sandbox % are the operator''s', asked.subject using errcode = 'insufficient_privilege';
  end if;
  if not (
    case asked.scope
      when 'publisher' then asked.subject = asked.publisher_id
      else exists (select from projects p where p.id = asked.project_id and p.publisher_id = asked.publisher_id) end
    and case asked.scope
      when 'publisher' then exists (select from publishers u where u.id = asked.subject)
      when 'key_pair' then exists (select from key_pairs k where k.id = asked.subject and k.project_id = asked.project_id)
      -- There need be no row of an end user, but nobody takes over the limits of another project's.
      when 'end_user' then not exists (select from limits d
        where d.scope = 'end_user' and d.subject = asked.subject and d.project_id <> asked.project_id)
      when 'session' then false -- by browser_session_begin alone
      else asked.subject = asked.project_id end
  ) then
    raise exception 'there is no % % of publisher %', asked.scope, asked.subject, asked.publisher_id
      using errcode = 'no_data_found';
  end if;
  if asked.scope = 'publisher' then
    -- No project is made meanwhile: its wallet would not know of these limits.
    perform from publishers u where u.id = asked.publisher_id for update;
  end if;
  -- Nothing is counted meanwhile, and no session begins: browser_session_begin reads what limits_note writes.
  perform from wallets w join projects p on p.id = w.project_id
    where p.publisher_id = asked.publisher_id and (asked.project_id is null or p.id = asked.project_id)
    order by w.project_id for update of w;
  delete from limits d where d.scope = asked.scope and d.subject = asked.subject;
  if num_nonnulls(asked.requests_per_minute, asked.tokens_per_minute, asked.concurrent_calls, asked.day_nanos,
      asked.week_nanos, asked.month_nanos, asked.total_nanos) > 0 then
    insert into limits select asked.*;
    if asked.scope in ('publisher', 'project', 'key_pair') then
      insert into limit_counts (scope, subject, project_id) values (asked.scope, asked.subject, asked.project_id)
        on conflict do nothing returning id into counted;
      if found then
        perform limits_adopt(counted, asked);
      end if;
    end if;
  elsif asked.scope in ('publisher', 'project', 'key_pair') then
    delete from limit_counts c where c.scope = asked.scope and c.subject = asked.subject;
  end if;
  perform limits_note(asked.publisher_id, asked.project_id);
end $$;

revoke execute on function limits_set from public;
grant execute on function limits_set to parley_tenant;
