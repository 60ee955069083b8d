/** Fills a database with a sound ledger of many calls, by statements that make the rows where they are stored. */
import { Client } from 'pg'
import { DAY_MS } from '../src/rules/durations.ts'

export interface Seed {
  calls: number
  wallets: number
  days: number
}

const CHUNK = 250_000
const PRICES = [
  { model: 'bench-small', input: 150_000_000, cached: 75_000_000, output: 600_000_000 },
  { model: 'bench-large', input: 2_500_000_000, cached: 1_250_000_000, output: 10_000_000_000 },
]

export async function seedLedger(url: string, { calls, wallets, days }: Seed): Promise<void> {
  await withClient(url, async (client) => {
    const partitions = await client.query<{ statement: string }>(PARTITIONS, [days])
    for (const { statement } of partitions.rows) await client.query(statement)
    await client.query('insert into publishers (id, name) values (gen_random_uuid(), $1)', ['bench'])
    await client.query(
      `insert into projects (id, publisher_id, name)
       select gen_random_uuid(), (select id from publishers), 'bench' from generate_series(1, $1::int)`,
      [wallets],
    )
    await client.query(`insert into accounts (id, kind, project_id) select id, 'wallet', id from projects`)
    await client.query('insert into wallets (project_id) select id from projects')
    for (const { model, input, cached, output } of PRICES) {
      await client.query('insert into models (id, owned_by) values ($1, $1)', [model])
      await client.query(
        `insert into price_versions (model_id, input, cached_input, cache_write, output, reasoning)
         values ($1, $2, $3, 0, $4, $4)`,
        [model, input, cached, output],
      )
    }
    await client.query('create table seed_projects as select row_number() over () - 1 as n, id from projects')
  })
  const restore = await dropIndexes(url)
  await loadDays(url, calls, days)
  await restore()
  await withClient(url, async (client) => {
    await client.query('set synchronous_commit = off')
    for (const statement of BALANCES) await client.query(statement)
    // Autovacuum would have done this by now.
    await client.query('vacuum analyze')
  })
}

/** Calls that end now, on top of the others and through the same indexes as always. */
export async function addRecentCalls(url: string, calls: number): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('begin')
    await client.query(CALLS, [1_000_000_000, calls, new Date(Date.now() - 100_000), new Date(Date.now() - 5_000)])
    await client.query(`update wallets w set balance_nanos = balance_nanos - c.charged from (
      select project_id, sum(charged_nanos) as charged from charges
      where id >= first_id_of(now() - interval '110 seconds') group by project_id) c where c.project_id = w.project_id`)
    await client.query('commit')
  })
}

/** Each day is written by one connection and in order, as it would be in use. */
async function loadDays(url: string, calls: number, days: number): Promise<void> {
  const now = Date.now()
  const today = now - (now % DAY_MS)
  const queue = Array.from({ length: days }, (_, n) => n)
  const load = () =>
    withClient(url, async (client) => {
      await client.query('set synchronous_commit = off; set jit = off; set work_mem = 262144')
      for (let n = queue.shift(); n !== undefined; n = queue.shift()) {
        const from = today - (days - 1 - n) * DAY_MS
        const span = Math.min(from + DAY_MS, now - 120_000) - from - 30_000
        const [first, end] = [Math.floor((calls * n) / days), Math.floor((calls * (n + 1)) / days)]
        const at = (call: number) => new Date(from + (span * (call - first)) / (end - first))
        for (let start = first; start < end; start += CHUNK) {
          const stop = Math.min(start + CHUNK, end)
          await client.query(CALLS, [start, stop - start, at(start), at(stop)])
        }
      }
    })
  await Promise.all([load(), load()])
}

/** Building an index at the end is several times faster than adding ten million rows to it. */
async function dropIndexes(url: string): Promise<() => Promise<void>> {
  const { keys, indexes } = await withClient(url, async (client) => {
    const found = {
      keys: await client.query<{ name: string; parent: string; definition: string }>(
        `select conname as name, conrelid::regclass as parent, pg_get_constraintdef(oid) as definition
         from pg_constraint where conrelid in ('charges'::regclass, 'calls'::regclass) and contype = 'p'`,
      ),
      indexes: await client.query<{ name: string; definition: string }>(
        `select indexname as name, replace(indexdef, ' ON ONLY ', ' ON ') as definition from pg_indexes
         where tablename in ('charges', 'calls') and indexname not like '%_pkey'`,
      ),
    }
    for (const { name, parent } of found.keys.rows) await client.query(`alter table ${parent} drop constraint ${name}`)
    for (const { name } of found.indexes.rows) await client.query(`drop index ${name}`)
    return { keys: found.keys.rows, indexes: found.indexes.rows }
  })
  return () =>
    withClient(url, async (client) => {
      await client.query('set maintenance_work_mem = 1048576; set synchronous_commit = off')
      for (const { name, parent, definition } of keys) {
        await client.query(`alter table ${parent} add constraint ${name} ${definition}`)
      }
      for (const { definition } of indexes) await client.query(definition)
    })
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, application_name: 'parley bench seed' })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const PARTITIONS = `
select format('create table %1$I partition of %2$I for values from (%3$L) to (%4$L);
    grant select on %1$I to parley_worker', parent || '_' || to_char(day, 'YYYYMMDD'), parent,
  first_id_of(day at time zone 'utc'), first_id_of((day + interval '1 day') at time zone 'utc')) as statement
from unnest(array['charges', 'calls']) as parent, generate_series(3, $1::int - 1) as back,
  lateral (select date_trunc('day', now() at time zone 'utc') - back * interval '1 day' as day) as d`

/** $1: the first call's number, $2: how many, $3 and $4: from when to when they begin. */
const CALLS = `
with numbered as (
  select n, hashint8(n)::int8 & 2147483647 as h, md5(n::text) as hex,
    $3::timestamptz + ((n - $1)::float8 / $2) * ($4::timestamptz - $3::timestamptz) as held_at
  from generate_series($1::int8, $1::int8 + $2::int8 - 1) as n
), used as (
  select (lpad(to_hex((extract(epoch from held_at) * 1000)::int8), 12, '0') || '7' || substr(hex, 1, 3) || '8'
      || substr(hex, 4, 15))::uuid as id,
    p.id as project_id, v.model_id, v.id as price_version_id, h, hex, held_at,
    100 + h % 3000 as input, case when h % 10 = 0 then h % 500 else 0 end as cached,
    20 + h % 900 as output, case when h % 7 = 0 then h % 400 else 0 end as reasoning,
    case when h % 50 < 47 then 'completed' when h % 50 = 47 then 'hung_up' when h % 50 = 48 then 'upstream_failed'
      else 'timed_out' end as outcome,
    case when h % 50 < 46 then 'reported' else 'estimated' end as source,
    v.input as input_price, v.cached_input as cached_price, v.output as output_price
  from numbered join seed_projects p on p.n = h % (select count(*) from seed_projects)
    join price_versions v on v.id = 1 + h % 2
), priced as (
  select *, (input * input_price + cached * cached_price + (output + reasoning) * output_price + 999999) / 1000000 as worth
  from used
), made as materialized (
  select *, case when outcome in ('completed', 'hung_up') then worth else 0 end as charged from priced
), charged as (
  insert into charges (id, project_id, key_pair_id, model_id, price_version_id, gateway_id, held_nanos, usage_nanos,
    charged_nanos, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, usage_source,
    outcome, held_at, settled_at)
  select id, project_id, project_id, model_id, price_version_id, project_id, worth + 100000 + h % 1000000, worth, charged,
    input, cached, 0, output, reasoning, source, outcome, held_at, held_at + (500 + h % 4000) * interval '1 ms'
  from made
)
insert into calls (id, project_id, key_pair_id, model_id, deployment_id, request_id, streamed, status, outcome,
  finish_reason, first_token_ms, duration_ms, attempts, created_at)
select id, project_id, project_id, model_id, project_id, 'req_' || hex, true, 200, outcome, 'stop', 210,
  500 + h % 4000, json_build_array(json_build_object('deployment', project_id, 'provider', 'bench', 'ms', 200)), held_at
from made`

/** Three top-ups per wallet, which leave it 1,000 credits, and two running calls for every tenth wallet. */
const BALANCES = [
  `insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference, created_at)
   select gen_random_uuid(), '00000000-0000-0000-0000-000000000002', w.project_id,
     coalesce(c.charged, 0) / 3 + case n when 1 then 1000000000000 + coalesce(c.charged, 0) % 3 else 0 end + 1,
     'topup', 'seed:' || w.project_id || ':' || n, now() - interval '30 days'
   from wallets w left join (select project_id, sum(charged_nanos)::int8 as charged from charges group by project_id) c
     using (project_id), generate_series(1, 3) as n`,
  `update wallets set balance_nanos = 1000000000003`,
  `insert into gateways (id) values ('00000000-0000-7000-8000-000000000001')`,
  `insert into holds (id, project_id, key_pair_id, model_id, price_version_id, gateway_id, amount_nanos)
   select gen_random_uuid(), p.id, p.id, '${PRICES[0]?.model}', 1, '00000000-0000-7000-8000-000000000001', 5000000
   from seed_projects p, generate_series(1, 2) where p.n % 10 = 0`,
  `update wallets w set held_nanos = 10000000, open_holds = 2 from seed_projects p where p.id = w.project_id and p.n % 10 = 0`,
]
