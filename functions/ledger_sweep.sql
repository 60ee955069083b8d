-- Releases what dead gateways left: holds whose gateway has not beaten for lease, or that outlived every possible
-- stream. Candidates are read without locks and settled by the ordinary statement, so a gateway that settles one of
-- them at the same moment simply wins. Returns how many holds were released.
-- Runs with its owner's rights: the worker itself may not write what the ledger keeps.
create or replace function ledger_sweep(lease interval, longest_call interval, most int) returns int
language plpgsql security definer set search_path = public, pg_temp as $$
declare swept int; projects uuid[]; settles json;
begin
  select count(*), array_agg(distinct x.project_id), json_agg(json_build_object(
      'n', x.n, 'id', x.id, 'project_id', x.project_id, 'bill_nanos', 0, 'usage_nanos', 0, 'input_tokens', 0,
      'cached_input_tokens', 0, 'cache_write_tokens', 0, 'output_tokens', 0, 'reasoning_tokens', 0,
      'usage_source', 'none', 'outcome', 'gateway_died', 'request_id', '', 'streamed', false, 'status', 0,
      'duration_ms', x.age_ms, 'attempts', '[]'::json))
    into swept, projects, settles
  from (
    select h.id, h.project_id, row_number() over (order by h.id) as n,
      (extract(epoch from now() - h.held_at) * 1000)::int as age_ms
    from holds h left join gateways g on g.id = h.gateway_id
    where g.beat_at is null or g.beat_at < now() - lease or h.held_at < now() - longest_call
    order by h.id limit most
  ) x;
  if swept > 0 then
    perform ledger_apply(null, projects, settles, null, null);
  end if;
  return swept;
end $$;

revoke execute on function ledger_sweep from public;
grant execute on function ledger_sweep to parley_worker;
