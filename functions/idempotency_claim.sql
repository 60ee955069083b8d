-- Claims an Idempotency-Key for a call, before credit is held. Answers 'claimed', or why not: 'running' (another call
-- has it), 'mismatch' (it was used for another body), 'replay' with the stored result. While a claim has no result its
-- call is running, unless its gateway is dead and its hold is gone: then whoever asks next takes the claim over.
create or replace function idempotency_claim(project uuid, key bytea, body bytea, call uuid, gateway uuid,
  conversation text, lease interval, kept interval) returns idempotency_answer language plpgsql security definer
set search_path = public, pg_temp as $$
declare k idempotency_keys; dead boolean;
begin
  insert into idempotency_keys (project_id, key_digest, body_digest, call_id, gateway_id, conversation_id)
    values (project, key, body, call, gateway, conversation) on conflict (project_id, key_digest) do nothing;
  if found then
    return row('claimed', null, call)::idempotency_answer;
  end if;
  select * into k from idempotency_keys i where i.project_id = project and i.key_digest = key for update;
  if not found then
    return row('running', null, null)::idempotency_answer; -- given up in this very moment: the caller tries again
  end if;
  if k.created_at > now() - kept then
    if k.body_digest <> body then
      return row('mismatch', null, k.call_id)::idempotency_answer;
    end if;
    if k.result is not null then
      return row('replay', k.result, k.call_id)::idempotency_answer;
    end if;
    select not exists (select 1 from holds h where h.id = k.call_id)
      and not exists (select 1 from gateways g where g.id = k.gateway_id and g.beat_at > now() - lease) into dead;
    if not dead then
      return row('running', null, k.call_id)::idempotency_answer;
    end if;
  end if;
  update idempotency_keys i set body_digest = body, call_id = call, gateway_id = gateway, conversation_id = conversation,
    result = null, created_at = now() where i.project_id = project and i.key_digest = key;
  return row('claimed', null, call)::idempotency_answer;
end $$;

revoke execute on function idempotency_claim from public;
grant execute on function idempotency_claim to parley_gateway;
