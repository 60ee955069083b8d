-- Requests per minute and what this call leaves of them, tokens per minute and what is left of them: of the limit with the
-- least left, each.
create or replace function rates_tightest(known int8[], requests_max int8, requests int8, tokens_max int8, tokens int8)
returns int8[] language sql immutable as $$
  select case when known[2] <= requests_max - requests - 1 or requests_max is null then array[known[1], known[2]]
      else array[requests_max, greatest(requests_max - requests - 1, 0)] end
    || case when known[4] <= tokens_max - tokens or tokens_max is null then array[known[3], known[4]]
      else array[tokens_max, greatest(tokens_max - tokens, 0)] end
$$;

revoke execute on function rates_tightest from public;
