-- Publisher, project and advertiser of this transaction: 'PUBLISHER/PROJECT/EXPIRES/SIGNATURE' or
-- 'advertiser:ADVERTISER//EXPIRES/SIGNATURE', the signature being HMAC-SHA-256 in hex of what is before it. Nobody is both. Who cannot read the key cannot name anybody else. Runs as the owner, so `current_user` is
-- the owner here: a session of the owner's, which could read everything anyway, may also name a tenant as versions
-- before signed tenants do, so that an old console keeps working while new ones are started.
create or replace function tenant_context() returns uuid[] language plpgsql stable security definer
set search_path = public, pg_temp as $$
declare
  signed text := current_setting('parley.tenant', true);
  parts text[];
  signature text;
begin
  if signed is null or signed = '' then
    if pg_has_role(session_user, current_user, 'member') then
      return array[nullif(current_setting('parley.publisher', true), '')::uuid,
        nullif(current_setting('parley.project', true), '')::uuid];
    end if;
    return null;
  end if;
  parts := string_to_array(signed, '/');
  select encode(sha256(k.outer_block || sha256(k.inner_block
      || convert_to(parts[1] || '/' || parts[2] || '/' || parts[3], 'UTF8'))), 'hex')
    into signature from tenant_key k;
  if signature is null or signature is distinct from parts[4] then
    raise exception 'the tenant of this transaction is not signed' using errcode = 'insufficient_privilege';
  end if;
  if parts[3]::int8 < extract(epoch from now()) then
    raise exception 'the tenant of this transaction was signed too long ago: compare the clocks of the servers'
      using errcode = 'insufficient_privilege';
  end if;
  if starts_with(parts[1], 'advertiser:') then
    return array[null, null, substr(parts[1], length('advertiser:') + 1)::uuid];
  end if;
  return array[parts[1]::uuid, nullif(parts[2], '')::uuid];
end $$;

revoke execute on function tenant_context from public;
grant execute on function tenant_context to parley_tenant, parley_advertiser;
