import { sql, type RawBuilder } from 'kysely'
import { HOUR_MS } from '../../rules/durations.ts'
import { CALL_OUTCOMES } from '../../rules/billing/charging.ts'
import { BILLED_TOKEN_COLUMNS, TOKEN_COLUMNS } from '../../rules/billing/token-columns.ts'
import { LATENCY_BOUNDS, LATENCY_COUNTS, STATUSES } from '../../rules/billing/usage-counts.ts'
import type { Db } from '../database.ts'
import { addToAvailability } from './availability-roll-up.ts'

/**
 * Adds settled calls to usage_hours, usage_days, the sums of conversations and end users, and the availability of models and
 * providers. migrations/0010_usage.sql says what can be relied on; what makes it exact is that a charge carries the time at
 * which its transaction began, so that nothing can appear any more before the oldest transaction that may still write.
 */
const ONE_AT_A_TIME = 'usage roll-up'
/** Ledger statements end after five seconds; what has not begun to write for this long is somebody reading. */
const READER_AFTER_SECONDS = 60
/** An id carries the clock of its gateway, which may be this far off (ledger_hold), and a call runs for an hour at most. */
const ID_MARGIN_MS = 38 * HOUR_MS

export const SCALARS = [
  'calls',
  'streamed',
  ...TOKEN_COLUMNS.names,
  'charged_nanos',
  'billed_calls',
  'billed_worth_nanos',
  ...BILLED_TOKEN_COLUMNS.names,
] as const
export const COUNTS = ['outcomes', 'statuses', 'first_tokens', 'durations'] as const
const KEY = ['project_id', 'starts_at', 'model_id', 'key_pair_id', 'price_version_id'] as const
const TOKENS = TOKEN_COLUMNS.names

/** The columns that a call contributes, from a charge `m` and its call `c`. */
const FACTS = sql`m.project_id, m.model_id, m.key_pair_id, m.price_version_id, time_of_id(m.id) as began_at,
  c.conversation_id, c.end_user_id, ${list(TOKENS.map((column) => sql.ref(`m.${column}`)))}, m.charged_nanos, m.usage_nanos, m.outcome, c.status, c.streamed,
  c.attempts, ${bucketOf('c.first_token_ms')} as first_token_bucket, ${bucketOf('c.duration_ms')} as duration_bucket`

/** The columns of a roll-up from a relation `facts` with the above, in the order of KEY, SCALARS and COUNTS. */
export function selectRolledUp(every: 'hour' | 'day', facts: RawBuilder<unknown>): RawBuilder<unknown> {
  const billed = sql`filter (where charged_nanos > 0)`
  return sql`select project_id, date_trunc(${sql.lit(every)}, began_at, 'UTC'), model_id, key_pair_id, price_version_id,
      count(*), count(*) filter (where streamed), ${list(TOKENS.map((column) => sql`sum(${sql.ref(column)})`))},
      sum(charged_nanos), count(*) ${billed}, coalesce(sum(usage_nanos) ${billed}, 0),
      ${list(TOKENS.map((column) => sql`coalesce(sum(${sql.ref(column)}) ${billed}, 0)`))},
      ${countsOf('outcome', CALL_OUTCOMES)}, ${countsOf('status', STATUSES, true)},
      ${countsOf('first_token_bucket', positions(LATENCY_COUNTS))}, ${countsOf('duration_bucket', positions(LATENCY_COUNTS))}
    from ${facts} group by 1, 2, 3, 4, 5`
}

/** Adds rows of that shape to what is there. */
export function addTo(table: 'usage_hours' | 'usage_days', rows: RawBuilder<unknown>): RawBuilder<unknown> {
  const ours = (column: string) => sql.ref(`${table}.${column}`)
  const sums = SCALARS.map((column) => sql`${sql.ref(column)} = ${ours(column)} + ${sql.ref(`excluded.${column}`)}`)
  const counts = COUNTS.map(
    (column) => sql`${sql.ref(column)} = add_counts(${ours(column)}, ${sql.ref(`excluded.${column}`)})`,
  )
  return sql`insert into ${sql.table(table)} (${list([...KEY, ...SCALARS, ...COUNTS].map((column) => sql.ref(column)))})
    ${rows} on conflict (${list(KEY.map((column) => sql.ref(column)))}) do update set ${list([...sums, ...counts])}`
}

/** In the order of their ids, as everywhere: two that write the same rows never wait for each other in a circle. */
export function addToConversations(facts: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`insert into conversation_sums as s (project_id, conversation_id, calls, input_tokens, output_tokens, charged_nanos)
    select project_id, conversation_id, count(*),
      sum(input_tokens::int8 + cached_input_tokens + cache_write_tokens), sum(output_tokens::int8 + reasoning_tokens),
      sum(charged_nanos)
    from ${facts} where conversation_id is not null group by 1, 2 order by 1, 2
    on conflict (project_id, conversation_id) do update set calls = s.calls + excluded.calls,
      input_tokens = s.input_tokens + excluded.input_tokens, output_tokens = s.output_tokens + excluded.output_tokens,
      charged_nanos = s.charged_nanos + excluded.charged_nanos`
}

/** Calls of before an erasure are counted for nobody. */
function addToEndUsers(facts: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`insert into end_user_days as d (project_id, end_user_id, starts_at, calls, tokens, charged_nanos)
    select project_id, end_user_id, date_trunc('day', began_at, 'UTC'), count(*),
      sum(${sql.join(
        TOKENS.map((column) => sql`${sql.ref(column)}::int8`),
        sql` + `,
      )}), sum(charged_nanos)
    from ${facts} f where end_user_id is not null
      and not exists (select from end_user_erasures e where e.project_id = f.project_id
        and e.end_user_id = f.end_user_id and e.erased_at >= f.began_at)
    group by 1, 2, 3 order by 1, 2, 3
    on conflict (project_id, end_user_id, starts_at) do update set calls = d.calls + excluded.calls,
      tokens = d.tokens + excluded.tokens, charged_nanos = d.charged_nanos + excluded.charged_nanos`
}

/** The latest moment up to which everything that will ever be settled is visible to a statement that begins from now on. */
export async function findSettledBoundary(db: Db, marginMs: number): Promise<Date> {
  const { rows } = await sql<{ boundary: Date }>`
    select date_trunc('milliseconds', least(now() - ${marginMs} * interval '1 ms',
      min(began_at) - interval '1 microsecond')) as boundary
    from open_transactions()
    where (has_written or began_at > now() - ${READER_AFTER_SECONDS} * interval '1 second')`.execute(db)
  const [row] = rows
  if (!row) throw new Error('the store did not say what time it is')
  return row.boundary
}

/** Where the first pass begins: nothing was settled before the oldest call began. Undefined: there is no call yet. */
async function findBeginning(tx: Db): Promise<Date | undefined> {
  const { rows } = await sql<{ began_at: Date | null }>`
    select time_of_id(id) - ${ID_MARGIN_MS} * interval '1 ms' as began_at from charges order by id limit 1`.execute(tx)
  return rows[0]?.began_at ?? undefined
}

/**
 * Counts what was settled in the next `stepMs` after what is counted, but not beyond `boundary`. Returns how far the
 * roll-up is now; undefined when another worker is at it.
 */
export function rollUpStep(db: Db, boundary: Date, stepMs: number): Promise<Date | undefined> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ is_ours: boolean }>`
      select pg_try_advisory_xact_lock(hashtext(${ONE_AT_A_TIME})) as is_ours`.execute(tx)
    if (!rows[0]?.is_ours) return undefined
    const progress = await tx.selectFrom('usage_progress').select('through').executeTakeFirstOrThrow()
    const from = progress.through ?? (await findBeginning(tx)) ?? boundary
    const to = new Date(Math.min(from.getTime() + stepMs, boundary.getTime()))
    // An old transaction may still write, or the clock was set back: this moment was passed before.
    if (to < from) return from
    if (to > from) await addSettled(tx, from, to)
    await tx.updateTable('usage_progress').set({ through: to }).execute()
    return to
  })
}

async function addSettled(tx: Db, from: Date, to: Date): Promise<void> {
  // Statistics lag behind what is newest: the planner would read whole days of calls to join a few of them.
  for (const setting of ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) {
    await sql`set local ${sql.ref(setting)} = off`.execute(tx)
  }
  // Added up here, because the planner leaves out other days only by what it can work out itself: with a
  // hundred days of partitions, planning took twenty times as long as the rest.
  const [first, last] = [new Date(from.getTime() - ID_MARGIN_MS), new Date(to.getTime() + ID_MARGIN_MS)]
  const ids = (row: 'm' | 'c') => sql`${sql.ref(`${row}.id`)} >= first_id_of(${first}::timestamptz)
    and ${sql.ref(`${row}.id`)} < first_id_of(${last}::timestamptz)`
  const facts = sql`select ${FACTS} from charges m join calls c on c.id = m.id and ${ids('c')}
    where m.settled_at > ${from} and m.settled_at <= ${to} and ${ids('m')}`
  await sql`with facts as materialized (${facts}), hours as (${addTo('usage_hours', selectRolledUp('hour', sql`facts`))}),
      conversations as (${addToConversations(sql`facts`)}), end_users as (${addToEndUsers(sql`facts`)}),
      ${addToAvailability(sql`facts`)}
    ${addTo('usage_days', selectRolledUp('day', sql`facts`))}`.execute(tx)
}

function list(parts: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join(parts)
}

/** width_bucket of an array counts from zero: below the first bound. */
export function bucketOf(column: string): RawBuilder<unknown> {
  return sql`width_bucket(${sql.ref(column)}, ${sql.raw(`array[${LATENCY_BOUNDS.join(',')}]`)})`
}

function countsOf(column: string, values: readonly (string | number)[], hasRest = false): RawBuilder<unknown> {
  const counts = values.map((value) => sql`count(*) filter (where ${sql.ref(column)} = ${sql.lit(value)})`)
  const rest = sql`count(*) filter (where ${sql.ref(column)} not in (${sql.join(values.map((value) => sql.lit(value)))}))`
  return sql`array[${list(hasRest ? [...counts, rest] : counts)}]::int4[]`
}

function positions(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n)
}

/** Erases hours of before; the days stay. Returns how many rows. */
export async function expireUsageHours(db: Db, keptMs: number, most: number): Promise<number> {
  const key = list(KEY.map((column) => sql.ref(column)))
  // By project, because that is how the rows are found.
  const { numAffectedRows } = await sql`
    delete from usage_hours where (${key}) in (
      select ${key} from projects p cross join lateral (
        select ${key} from usage_hours h
        where h.project_id = p.id and h.starts_at < now() - ${keptMs} * interval '1 ms' limit ${most}) h
      limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
