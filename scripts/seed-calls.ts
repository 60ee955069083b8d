/**
 * Fills a database with millions of calls, by statements that make the rows where they are stored, and with the usage
 * roll-ups that a worker would have made of them. `node scripts/seed-calls.ts --calls 10000000` does it for the database
 * in DATABASE_URL; the first of the 20 projects gets half of the calls. Benches and tests use it, too.
 */
import { sql, type RawBuilder } from 'kysely'
import { parseArgs } from 'node:util'
import { readConfig } from '../src/config.ts'
import { uuidv7 } from '../src/platform/uuid.ts'
import { openStore, type Db } from '../src/store/database.ts'
import { insertProject } from '../src/store/projects/projects.ts'
import { addToAvailability } from '../src/store/billing/availability-roll-up.ts'
import { addTo, bucketOf, selectRolledUp } from '../src/store/billing/usage-roll-up.ts'
import { DAY_MS } from '../src/rules/durations.ts'

export interface SeededCalls {
  /** The one with half of the calls comes first. */
  projectIds: string[]
}

export interface SeedOptions {
  calls: number
  days?: number
  /** The owner of the projects; created when absent. */
  publisherId?: string
  /** Nearly all replies then say that they had a recommendation; the caller has to write those as well. */
  isMonetized?: boolean
  say?: (text: string) => void
}

const PROJECTS = 20
const CHUNK = 200_000
const LANES = 2
/** Model, and dollars per million tokens of input, cached input and output. */
const MODELS: [string, number, number, number][] = [
  ['claude-sonnet', 3, 0.3, 15],
  ['gpt-large', 2.5, 1.25, 10],
  ['gpt-mini', 0.15, 0.075, 0.6],
  ['gemini-flash', 0.3, 0.03, 2.5],
  ['mistral-small', 0.1, 0.1, 0.3],
]

export async function seedCalls(url: string, options: SeedOptions): Promise<SeededCalls> {
  const { calls, days = 60, isMonetized = false, say = () => undefined } = options
  const store = openStore({ url, applicationName: 'parley seed', statementTimeoutMs: 900_000, poolMax: LANES + 1 })
  try {
    const { db } = store
    await makePartitions(db, days)
    const projectIds = await makeProjects(db, options.publisherId)
    await makeModels(db)
    const indexes = calls > CHUNK ? await dropIndexes(db) : []
    say(`writing ${calls.toLocaleString('en-US')} calls`)
    await loadDays(db, { calls, days, isMonetized }, projectIds)
    say('building indexes')
    await buildIndexes(db, indexes)
    await settleWallets(db, projectIds)
    await sql`vacuum analyze`.execute(db)
    return { projectIds }
  } finally {
    await store.close()
  }
}

async function makePartitions(db: Db, days: number): Promise<void> {
  const { rows } = await sql<{ statement: string }>`
    select format('create table if not exists %1$I partition of %2$I for values from (%3$L) to (%4$L);
      grant select on %1$I to parley_worker',
      parent || '_' || to_char(day, 'YYYYMMDD'), parent, first_id_of(day at time zone 'utc'),
      first_id_of((day + interval '1 day') at time zone 'utc')) as statement
    from unnest(array['charges', 'calls']) as parent, generate_series(0, ${days}::int) as back,
      lateral (select date_trunc('day', now() at time zone 'utc') - back * interval '1 day' as day) as d`.execute(db)
  for (const { statement } of rows) await sql.raw(statement).execute(db)
}

/** Each with a wallet, which is filled when the calls are known, and three key pairs that nobody has the secret of. */
async function makeProjects(db: Db, publisherId: string | undefined): Promise<string[]> {
  const owner = publisherId ?? uuidv7()
  await sql`insert into publishers (id, name, activated_at) values (${owner}, 'Seeded', now())
    on conflict (id) do update set activated_at = now()`.execute(db)
  const ids: string[] = []
  for (let n = 1; n <= PROJECTS; n++) {
    const project = { id: uuidv7(), publisherId: owner, name: `Site ${n}`, domain: `site-${n}.example.com` }
    await insertProject(db, { ...project, verificationToken: 'seeded', domainVerifiedAt: new Date() })
    ids.push(project.id)
  }
  await sql`
    insert into key_pairs (id, project_id, name, publishable_key, secret_digest, secret_version, secret_last4)
    select ${keyIdOf(sql`p`, sql`n`)}, p, (array['website', 'app', 'newsletter'])[n], 'ply_pk_seeded_' || md5(p || '-' || n),
      decode(md5(p::text) || md5(n::text), 'hex'), 1, 'seed'
    from unnest(${ids}::uuid[]) as p, generate_series(1, 3) as n`.execute(db)
  return ids
}

/** Two price versions each: the second takes effect halfway. */
async function makeModels(db: Db): Promise<void> {
  for (const [model, input, cached, output] of MODELS) {
    const prices = [input, cached, input * 1.25, output, output].map((dollars) => Math.round(dollars * 1e9))
    await sql`insert into models (id, owned_by) values (${model}, 'seed') on conflict do nothing`.execute(db)
    for (const [daysAgo, percent] of [
      [400, 100],
      [30, 90],
    ] as const) {
      await sql`insert into price_versions (model_id, input, cached_input, cache_write, output, reasoning, effective_from)
        select ${model}, ${sql.join(prices.map((price) => sql`${price}::int8 * ${percent}::int / 100`))},
          date_trunc('day', now()) - ${daysAgo} * interval '1 day' on conflict do nothing`.execute(db)
    }
  }
}

/** Each day is written by one connection and in order, as it would be in use. */
async function loadDays(
  db: Db,
  { calls, days, isMonetized }: { calls: number; days: number; isMonetized: boolean },
  projectIds: string[],
): Promise<void> {
  const nowMs = Date.now()
  const today = nowMs - (nowMs % DAY_MS)
  const queue = Array.from({ length: days }, (_, n) => n)
  const load = () =>
    db.connection().execute(async (lane) => {
      await sql`set synchronous_commit = off`.execute(lane)
      await sql`set jit = off`.execute(lane)
      await sql`set work_mem = '256MB'`.execute(lane)
      for (let n = queue.shift(); n !== undefined; n = queue.shift()) {
        const from = today - (days - 1 - n) * DAY_MS
        // The last calls are old enough to be settled.
        const spanMs = Math.max(Math.min(from + DAY_MS, nowMs - 120_000) - from, 60_000)
        const [first, end] = [Math.floor((calls * n) / days), Math.floor((calls * (n + 1)) / days)]
        const at = (call: number) => new Date(from + (spanMs * (call - first)) / Math.max(end - first, 1))
        for (let start = first; start < end; start += CHUNK) {
          const stop = Math.min(start + CHUNK, end)
          await loadCalls(lane, { start, stop, from: at(start), to: at(stop), isMonetized }, projectIds)
        }
      }
      await sql`reset all`.execute(lane)
    })
  await Promise.all(Array.from({ length: LANES }, load))
}

interface Chunk {
  start: number
  stop: number
  from: Date
  to: Date
  isMonetized: boolean
}

async function loadCalls(db: Db, { start, stop, from, to, isMonetized }: Chunk, projectIds: string[]): Promise<void> {
  const models = MODELS.map(([model]) => model)
  await sql`
    with numbered as (
      select n, hashint8(n)::int8 & 2147483647 as h, hashint8(n + 7919)::int8 & 2147483647 as g, md5(n::text) as hex,
        ${from}::timestamptz + ((n - ${start}::int8)::float8 / ${stop - start}::int8) * (${to}::timestamptz - ${from}::timestamptz) as began_at
      from generate_series(${start}::int8, ${stop - 1}::int8) as n
    ), placed as (
      select *, ${idOf(sql`began_at`, sql`hex`)} as id,
        (${projectIds}::uuid[])[case when h % 2 = 0 then 1 else 2 + (g % ${PROJECTS - 1})::int end] as project_id,
        (${models}::text[])[1 + (case when h / 7 % 10 < 4 then 2 when h / 7 % 10 < 7 then 0 when h / 7 % 10 = 7 then 1 else h / 7 % 10 - 5 end)::int] as model_id,
        1 + (h / 2 % 10 + 7) / 8 as key_number,
        case when g % 100 < 94 then 'completed' when g % 100 < 96 then 'hung_up' when g % 100 = 96 then 'hold_used_up'
          when g % 100 = 97 then 'upstream_failed' when g % 100 = 98 then 'timed_out'
          when g % 200 = 99 then 'truncated' else 'gateway_died' end as outcome,
        (180 + 120000.0 / (40 + h % 1000))::int as first_token_ms, (400 + g % 9000)::int as answer_ms
      from numbered
    ), used as (
      select p.*, ${keyIdOf(sql`project_id`, sql`key_number`)} as key_pair_id, v.id as price_version_id,
        (80 + h % 2400)::int as input_tokens, (case when h % 4 = 0 then g % 4000 else 0 end)::int as cached_input_tokens,
        (case when h % 16 = 0 then 500 else 0 end)::int as cache_write_tokens, (20 + g % 900)::int as output_tokens,
        (case when h % 5 = 0 then h % 700 else 0 end)::int as reasoning_tokens, v.input, v.cached_input, v.cache_write, v.output,
        v.reasoning
      from placed p cross join lateral (select * from price_versions v where v.model_id = p.model_id
        and v.effective_from <= p.began_at order by v.effective_from desc limit 1) v
    ), worth as (
      select *, (input_tokens * input + cached_input_tokens * cached_input + cache_write_tokens * cache_write
        + output_tokens * output + reasoning_tokens * reasoning + 999999) / 1000000 as usage_nanos
      from used
    ), made as materialized (
      select *, case when outcome in ('completed', 'hung_up', 'hold_used_up') then usage_nanos else 0 end as charged_nanos,
        case outcome when 'completed' then 200 when 'hung_up' then case when h % 2 = 0 then 499 else 200 end
          when 'hold_used_up' then 200 when 'upstream_failed' then 502 when 'gateway_died' then 0 else 504 end::int2 as status,
        h % 3 > 0 as streamed, ${attemptsOf('first_token_ms', 'answer_ms')} as attempts
      from worth
    ), charged as (
      insert into charges (id, project_id, key_pair_id, model_id, price_version_id, gateway_id, held_nanos, usage_nanos,
        charged_nanos, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, usage_source,
        outcome, held_at, settled_at)
      select id, project_id, key_pair_id, model_id, price_version_id, project_id, usage_nanos + 1000, usage_nanos,
        charged_nanos, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, 'reported',
        outcome, began_at, began_at + (first_token_ms + answer_ms) * interval '1 ms'
      from made
    ), called as (
      insert into calls (id, project_id, key_pair_id, model_id, conversation_id, request_id, streamed, status, outcome,
        finish_reason, error_code, recommendation_outcome, first_token_ms, duration_ms, attempts, created_at)
      select id, project_id, key_pair_id, model_id, case when g % 3 = 0 then 'chat-' || n / 60 end,
        ${idOf(sql`began_at`, sql`reverse(hex)`)}::text, streamed, status, outcome,
        case outcome when 'completed' then 'stop' when 'hold_used_up' then 'length' end,
        case when status >= 500 then 'upstream_failed' end,
        case when ${isMonetized} and outcome = 'completed' then case h % 1000 when 0 then 'no_match' else 'served' end end, case when status < 500 and status > 0 then first_token_ms end,
        first_token_ms + answer_ms, attempts, began_at
      from made
    ), told as (
      insert into call_metadata (project_id, call_id, key, value, expires_at)
      select project_id, id, key, value, began_at + interval '1 year'
      from made, lateral (values ('env', 'prod'), ('order', 'A-' || n / 500)) as pair (key, value) where g % 10 = 0
    ), facts as (
      select *, ${bucketOf('reached_ms')} as first_token_bucket, ${bucketOf('duration_ms')} as duration_bucket
      from (select *, case when status < 500 and status > 0 then first_token_ms end as reached_ms,
        first_token_ms + answer_ms as duration_ms from made) m
    ), ${addToAvailability(sql`facts`)}, hours as (${addTo('usage_hours', selectRolledUp('hour', sql`facts`))})
    ${addTo('usage_days', selectRolledUp('day', sql`facts`))}`.execute(db)
}

/** The part of a call's time that Parley itself takes: its providers take all the rest. */
const OWN_MS = 4

/** Most are answered by the first try; some by the second, and those that fail have failed at the provider. */
function attemptsOf(firstToken: string, answer: string): RawBuilder<unknown> {
  const [first, all] = [sql.ref(firstToken), sql`${sql.ref(firstToken)} + ${sql.ref(answer)}`]
  return sql`case when outcome in ('upstream_failed', 'timed_out', 'truncated')
      then json_build_array(${triedFor(sql`${all} - ${OWN_MS}::int`, 'server_error')})
    when outcome = 'gateway_died' then '[]'::json
    when g % 37 = 0 then json_build_array(${triedFor(sql`90`, 'rate_limited')}, ${triedFor(sql`${first} - 90 - ${OWN_MS}::int`)})
    else json_build_array(${triedFor(sql`${first} - ${OWN_MS}::int`)}) end`
}

function triedFor(ms: RawBuilder<unknown>, failed?: string): RawBuilder<unknown> {
  const failure = failed === undefined ? sql`` : sql`, 'failed', ${sql.lit(failed)}`
  return sql`json_build_object('deployment', 'd', 'provider', split_part(model_id, '-', 1), 'ms', ${ms}${failure})`
}

/** The same uuid of version 4 for the same project and number. */
function keyIdOf(project: RawBuilder<unknown>, number: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`overlay(overlay(md5(${project} || '/' || ${number}) placing '4' from 13) placing '8' from 17)::uuid`
}

/** A uuid of version 7, as uuidv7() makes them. */
function idOf(moment: RawBuilder<unknown>, hex: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(lpad(to_hex((extract(epoch from ${moment}) * 1000)::int8), 12, '0') || '7' || substr(${hex}, 1, 3) || '8'
    || substr(${hex}, 4, 15))::uuid`
}

/** Each wallet got what it spent and a hundred dollars, so that the ledger is sound. */
async function settleWallets(db: Db, projectIds: string[]): Promise<void> {
  await sql`update usage_progress set through = now() - interval '10 seconds'`.execute(db)
  await sql`insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference)
    select gen_random_uuid(), '00000000-0000-0000-0000-000000000002', project_id, sum(charged_nanos)::int8 + 100000000000,
      'topup', 'seed:' || project_id
    from usage_days where project_id = any (${projectIds}::uuid[]) group by project_id`.execute(db)
  await sql`update wallets set balance_nanos = 100000000000 where project_id = any (${projectIds}::uuid[])`.execute(db)
}

interface Index {
  drop: string
  build: string
}

/** Building an index at the end is several times faster than adding ten million rows to it. */
async function dropIndexes(db: Db): Promise<Index[]> {
  const { rows: keys } = await sql<Index>`
    select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
      format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as build
    from pg_constraint where conrelid in ('charges'::regclass, 'calls'::regclass) and contype = 'p'`.execute(db)
  const { rows: others } = await sql<Index>`
    select format('drop index %I', indexname) as drop, replace(indexdef, ' ON ONLY ', ' ON ') as build
    from pg_indexes where tablename in ('charges', 'calls') and indexname not like '%_pkey'`.execute(db)
  const indexes = [...keys, ...others]
  for (const { drop } of indexes) await sql.raw(drop).execute(db)
  return indexes
}

/** Two at a time, of two tables: each build locks its own. */
async function buildIndexes(db: Db, indexes: readonly Index[]): Promise<void> {
  const build = (table: string) =>
    db.connection().execute(async (lane) => {
      await sql`set maintenance_work_mem = '1GB'`.execute(lane)
      await sql`set synchronous_commit = off`.execute(lane)
      for (const index of indexes.filter((each) => new RegExp(`\\b${table}\\b`).test(each.build))) {
        await sql.raw(index.build).execute(lane)
      }
    })
  await Promise.all([build('charges'), build('calls')])
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      calls: { type: 'string', default: '1000000' },
      days: { type: 'string', default: '60' },
      publisher: { type: 'string' },
    },
  })
  const startedMs = performance.now()
  const options = { calls: Number(values.calls), days: Number(values.days), say: (text: string) => console.log(text) }
  const { projectIds } = await seedCalls(readConfig().DATABASE_URL, {
    ...options,
    ...(values.publisher !== undefined && { publisherId: values.publisher }),
  })
  const seconds = Math.round((performance.now() - startedMs) / 1_000)
  console.log(`Done in ${seconds} s. Half of the calls are of project ${projectIds[0]}.`)
}

if (import.meta.main) await main()
