import { sql } from 'kysely'
import { NOTHING_COUNTED, type BudgetState, type LimitScope, type RateState } from '../../rules/billing/limits.ts'
import type { Db } from '../database.ts'

/** The subject that limits hold for. */
export interface LimitSubject {
  scope: LimitScope
  /** The id of the publisher, project, key pair or end user. Of `end_users`: the project's. */
  subject: string
  publisherId: string
  /** Null: the publisher's own. */
  projectId: string | null
}

/** Null: no such limit. For one end user: what holds for every end user of its project. */
export interface LimitValues {
  requests_per_minute: number | null
  tokens_per_minute: bigint | null
  concurrent_calls: number | null
  day_nanos: bigint | null
  week_nanos: bigint | null
  month_nanos: bigint | null
  total_nanos: bigint | null
}

export const LIMIT_COLUMNS = [
  'requests_per_minute',
  'tokens_per_minute',
  'concurrent_calls',
  'day_nanos',
  'week_nanos',
  'month_nanos',
  'total_nanos',
] as const satisfies readonly (keyof LimitValues)[]

export const NO_LIMITS: LimitValues = {
  requests_per_minute: null,
  tokens_per_minute: null,
  concurrent_calls: null,
  day_nanos: null,
  week_nanos: null,
  month_nanos: null,
  total_nanos: null,
}

/** Replaces all limits of this subject; none of them set removes them. */
export async function replaceLimits(tx: Db, of: LimitSubject, values: LimitValues): Promise<void> {
  const { scope, subject, publisherId, projectId } = of
  const columns = LIMIT_COLUMNS.map((name) => [name, values[name]?.toString()])
  const row = { scope, subject, publisher_id: publisherId, project_id: projectId, ...Object.fromEntries(columns) }
  // By name, so that a version that knows fewer columns can go on while a new one is rolled out.
  await sql`select limits_set(json_populate_record(null::limits, ${JSON.stringify(row)}::json))`.execute(tx)
}

/** The limits of these subjects, of one publisher. */
export async function findLimits(db: Db, subjects: readonly Pick<LimitSubject, 'scope' | 'subject'>[]) {
  if (subjects.length === 0) return []
  return db
    .selectFrom('limits')
    .select(['scope', 'subject', ...LIMIT_COLUMNS])
    .where(({ or, eb }) =>
      or(subjects.map((of) => eb.and([eb('scope', '=', of.scope), eb('subject', '=', of.subject)]))),
    )
    .execute()
}

export interface Credits {
  balance: bigint
  held: bigint
  /** The rates of the project itself, which its wallet counts. */
  rates: RateState
}

/** Undefined: there is no such project. */
export async function findCredits(db: Db, projectId: string): Promise<Credits | undefined> {
  const isNow = sql<boolean>`w.minute_started_at = date_trunc('minute', now())`
  const row = await db
    .selectFrom('wallets as w')
    .innerJoin('projects as p', 'p.id', 'w.project_id')
    .select([
      'w.balance_nanos',
      'w.held_nanos',
      'w.open_holds',
      'p.requests_per_minute',
      'p.tokens_per_minute',
      'p.concurrent_calls',
    ])
    .select(sql<number>`case when ${isNow} then w.minute_requests else 0 end`.as('minute_requests'))
    .select(sql<bigint>`case when ${isNow} then w.minute_tokens else 0 end`.as('minute_tokens'))
    .where('w.project_id', '=', projectId)
    .executeTakeFirst()
  if (!row) return undefined
  const { balance_nanos: balance, held_nanos: held, ...rates } = row
  return { balance, held, rates }
}

/** Reads what has been counted for these subjects, as of now, with the limits that hold for them. */
async function findLimitStates(db: Db, subjects: readonly Pick<LimitSubject, 'scope' | 'subject'>[]) {
  if (subjects.length === 0) return []
  return db
    .selectFrom('limit_states')
    .selectAll()
    .where(({ or, eb }) =>
      or(subjects.map((of) => eb.and([eb('scope', '=', of.scope), eb('subject', '=', of.subject)]))),
    )
    .execute()
}

/** The limits that are set for a subject itself, and those that hold for it, with what was counted. */
export interface CountedLimits {
  own: LimitValues
  state: RateState & BudgetState
}

/** Returns the limits of subjects of one project, in the order asked. A subject that was never counted has everything left. */
export async function findCountedLimits(
  db: Db,
  projectId: string,
  subjects: readonly Pick<LimitSubject, 'scope' | 'subject'>[],
): Promise<CountedLimits[]> {
  const everyone = { scope: 'end_users', subject: projectId } as const
  const limits = byKey(await findLimits(db, [...subjects, everyone]))
  const states = byKey(await findLimitStates(db, subjects))
  return subjects.map((of) => {
    const own = limits.get(keyOf(of)) ?? NO_LIMITS
    const holds = of.scope === 'end_user' ? orElse(own, limits.get(keyOf(everyone))) : own
    return { own, state: states.get(keyOf(of)) ?? { ...holds, ...NOTHING_COUNTED } }
  })
}

function keyOf({ scope, subject }: { scope: string | null; subject: string | null }): string {
  return `${scope} ${subject}`
}

function byKey<Row extends { scope: string | null; subject: string | null }>(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [keyOf(row), row]))
}

/** Each limit that is not set for one end user is what holds for every one. */
function orElse(own: LimitValues, shared: LimitValues = NO_LIMITS): LimitValues {
  const pairs = LIMIT_COLUMNS.map((name) => [name, own[name] ?? shared[name]])
  return Object.fromEntries(pairs) as LimitValues
}
