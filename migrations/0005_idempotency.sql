-- Idempotency-Key: the same key with the same body is charged once and answered from the stored result for a day.
--
-- A key is claimed before credit is held. A finished call stores its sealed result in the very statement that charges it,
-- so there is never a charge without its result; a call that fails gives its claim up. While a claim has neither, its
-- call is running, unless its gateway is dead and its hold is gone: then whoever asks next takes the claim over.

create table idempotency_keys (
  project_id uuid not null references projects,
  key_digest bytea not null check (length(key_digest) = 32),
  body_digest bytea not null check (length(body_digest) = 32),
  call_id uuid not null unique,
  gateway_id uuid not null,
  conversation_id text,
  result text,
  created_at timestamptz not null default now(),
  primary key (project_id, key_digest)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

create type idempotency_answer as (state text, result text, call_id uuid);

create function idempotency_claim(project uuid, key bytea, body bytea, call uuid, gateway uuid, conversation text,
  lease interval, kept interval) returns idempotency_answer language plpgsql as $$
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
