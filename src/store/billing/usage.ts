import { sql, type RawBuilder } from 'kysely'
import { CALL_OUTCOMES } from '../../rules/billing/charging.ts'
import { CLASS_COLUMNS } from '../../rules/billing/token-columns.ts'
import { TOKEN_CLASSES, type PerClass, type TokenClass } from '../../rules/billing/usage.ts'
import { toldApart, type NamedKey } from '../../rules/projects/keys.ts'
import { LATENCY_COUNTS, STATUSES } from '../../rules/billing/usage-counts.ts'
import type { Db } from '../database.ts'

/** Reads the roll-ups. Whatever the number of calls, only the rows of the hours or days that are asked for are touched. */

export type UsageGroup = 'model' | 'key' | 'project'

export interface UsageSpan {
  projectIds: readonly string[]
  /** Full hours or days; the end is not part of it. */
  from: Date
  to: Date
  every: 'hour' | 'day'
}

export interface UsageSums extends Record<`${TokenClass}Tokens`, bigint> {
  calls: bigint
  streamed: bigint
  charged: bigint
  /** In the order of CALL_OUTCOMES. */
  outcomes: number[]
}

export interface UsageDetails extends UsageSums {
  /** In the order of STATUSES, and one more for all others. */
  statuses: number[]
  firstTokens: number[]
  durations: number[]
}

const GROUP_COLUMNS = { model: sql`model_id`, key: sql`key_pair_id::text`, project: sql`project_id::text` }

const SUMS = sql`
  coalesce(sum(calls), 0)::int8 as calls, coalesce(sum(streamed), 0)::int8 as streamed,
  ${forEachClass((name, column) => sql`coalesce(sum(${sql.ref(`${column}_tokens`)}), 0)::int8 as ${sql.id(`${name}Tokens`)}`)},
  coalesce(sum(charged_nanos), 0)::int8 as charged,
  ${sumArrays('outcomes', CALL_OUTCOMES.length)} as outcomes`

const DETAILS = sql`${SUMS}, ${sumArrays('statuses', STATUSES.length + 1)} as statuses,
  ${sumArrays('first_tokens', LATENCY_COUNTS)} as "firstTokens", ${sumArrays('durations', LATENCY_COUNTS)} as durations`

/** How far the roll-ups are: calls that were settled later are not in them yet. */
export async function findUsageProgress(db: Db): Promise<Date | null> {
  const { through } = await db.selectFrom('usage_progress').select('through').executeTakeFirstOrThrow()
  return through
}

export async function sumUsage(db: Db, span: UsageSpan): Promise<UsageDetails> {
  const { rows } = await sql<UsageDetails>`select ${DETAILS} from ${rowsOf(span)}`.execute(db)
  return onlyRow(rows)
}

/** Without statuses and latencies, whose sums are most of the work. */
export async function sumUsageBriefly(db: Db, span: UsageSpan): Promise<UsageSums> {
  const { rows } = await sql<UsageSums>`select ${SUMS} from ${rowsOf(span)}`.execute(db)
  return onlyRow(rows)
}

function onlyRow<Row>([row]: readonly Row[]): Row {
  if (!row) throw new Error('an aggregate without a row')
  return row
}

/** One row for each group, those that cost most first. */
export async function sumUsageByGroup(
  db: Db,
  span: UsageSpan,
  by: UsageGroup,
): Promise<(UsageDetails & { group: string })[]> {
  const { rows } = await sql<UsageDetails & { group: string }>`
    select ${GROUP_COLUMNS[by]} as "group", ${DETAILS} from ${rowsOf(span)}
    group by 1 order by sum(charged_nanos) desc, sum(calls) desc, 1`.execute(db)
  return rows
}

export interface UsageBothWays {
  /** One for each group, those that cost most first. */
  groups: (UsageDetails & { group: string })[]
  /** One for each hour or day with a call, in order. */
  times: (UsageDetails & { at: Date })[]
}

/** In one pass: taking the arrays apart is most of the work, and is then done once. */
export async function sumUsageBothWays(db: Db, span: UsageSpan, by: UsageGroup): Promise<UsageBothWays> {
  const { rows } = await sql<UsageDetails & ({ group: string; at: null } | { group: null; at: Date })>`
    select ${GROUP_COLUMNS[by]} as "group", starts_at as at, ${DETAILS} from ${rowsOf(span)}
    group by grouping sets ((1), (2)) order by 2, sum(charged_nanos) desc, sum(calls) desc, 1`.execute(db)
  return { groups: rows.filter((row) => row.at === null), times: rows.filter((row) => row.at !== null) }
}

export type UsagePoint = UsageSums & { at: Date; group: string }

/** One row for each hour or day and group with a call, in order. */
export async function sumUsageByTimeAndGroup(db: Db, span: UsageSpan, by: UsageGroup): Promise<UsagePoint[]> {
  const { rows } = await sql<UsagePoint>`
    select starts_at as at, ${GROUP_COLUMNS[by]} as "group", ${SUMS} from ${rowsOf(span)} group by 1, 2 order by 1, 2`.execute(
    db,
  )
  return rows
}

/** The charges for the tokens of a model at one price. */
export interface BilledAtPrice {
  modelId: string
  version: bigint
  effectiveFrom: Date
  calls: bigint
  billedCalls: bigint
  charged: bigint
  /** The worth of the billed calls' tokens, each call rounded up to a nano. */
  worth: bigint
  tokens: PerClass<bigint>
  price: PerClass<bigint>
}

export async function sumBilled(db: Db, span: UsageSpan): Promise<BilledAtPrice[]> {
  const { rows } = await sql<Record<keyof BilledAtPrice, never>>`
    select u.model_id as "modelId", p.id as version, p.effective_from as "effectiveFrom", u.calls, u.billed_calls as "billedCalls",
      u.charged, u.worth,
      json_build_object(${forEachClass((name, column) => sql`${sql.lit(name)}, ${sql.ref(`u.${column}`)}::text`)}) as tokens,
      json_build_object(${forEachClass((name, column) => sql`${sql.lit(name)}, ${sql.ref(`p.${column}`)}::text`)}) as price
    from (
      select model_id, price_version_id, sum(calls)::int8 as calls, sum(billed_calls)::int8 as billed_calls,
        sum(charged_nanos)::int8 as charged, sum(billed_worth_nanos)::int8 as worth,
        ${forEachClass((_, column) => sql`sum(${sql.ref(`billed_${column}_tokens`)}) as ${sql.id(column)}`)}
      from ${rowsOf(span)} group by 1, 2
    ) u join price_versions p on p.id = u.price_version_id order by u.charged desc, u.model_id, p.effective_from desc`.execute(
    db,
  )
  return rows.map((row) =>
    Object.assign(row as BilledAtPrice, { tokens: toBigints(row.tokens), price: toBigints(row.price) }),
  )
}

interface Named {
  id: string
  name: string
}

/** The names of what usage can be grouped by; what was deleted has none. Keys with the same name are told apart. */
export async function listGroupNames(
  db: Db,
  by: UsageGroup,
  projectIds: readonly string[],
): Promise<Map<string, string>> {
  if (by === 'model') return new Map()
  if (by === 'key') {
    const { rows } = await sql<NamedKey>`select id, name, publishable_key as "publishableKey" from key_pairs
      where project_id = any (${projectIds}::uuid[]) order by created_at`.execute(db)
    return toldApart(rows)
  }
  const { rows } = await sql<Named>`
    select id, name from projects where id = any (${projectIds}::uuid[]) order by name`.execute(db)
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Models that the project used in these days, those that cost most first. */
export async function listUsedModels(db: Db, projectId: string, since: Date): Promise<string[]> {
  const { rows } = await sql<{ model: string }>`
    select model_id as model from usage_days where project_id = ${projectId} and starts_at >= ${since}
    group by 1 order by sum(charged_nanos) desc, 1`.execute(db)
  return rows.map(({ model }) => model)
}

function rowsOf({ projectIds, from, to, every }: UsageSpan): RawBuilder<unknown> {
  const table = sql.table(every === 'hour' ? 'usage_hours' : 'usage_days')
  return sql`${table} where project_id = any (${projectIds}::uuid[]) and starts_at >= ${from} and starts_at < ${to}`
}

/** One expression for each class of tokens, by its name and by what it is called in columns. */
function forEachClass(expressionOf: (name: TokenClass, column: string) => RawBuilder<unknown>): RawBuilder<unknown> {
  return sql.join(TOKEN_CLASSES.map((name) => expressionOf(name, CLASS_COLUMNS[name])))
}

/** Sums arrays by position, of those rows that `filter` lets through. */
export function sumArrays(column: string, length: number, filter = sql``): RawBuilder<unknown> {
  const sums = Array.from({ length }, (_, n) => sql`coalesce(sum(${sql.ref(column)}[${sql.lit(n + 1)}]) ${filter}, 0)`)
  return sql`array[${sql.join(sums)}]::float8[]`
}

function toBigints<Name extends string>(texts: Record<Name, string>): Record<Name, bigint> {
  return Object.fromEntries(Object.entries<string>(texts).map(([name, text]) => [name, BigInt(text)])) as Record<
    Name,
    bigint
  >
}
