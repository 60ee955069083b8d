import { sql } from 'kysely'
import type { LimitScope, RateState } from '../../rules/billing/limits.ts'
import type { Db } from '../database.ts'

/** Whose limits they are. */
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
  const columns = LIMIT_COLUMNS.map((name) => sql`${values[name]}`)
  await sql`select limits_set(row(${scope}, ${subject}, ${publisherId}, ${projectId}, ${sql.join(columns)})::limits)`.execute(
    tx,
  )
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
  /** Of the project itself, which its wallet counts. */
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

/** What has been counted for these subjects, as of now, beside the limits that hold for them. */
export async function findLimitStates(db: Db, subjects: readonly Pick<LimitSubject, 'scope' | 'subject'>[]) {
  if (subjects.length === 0) return []
  return db
    .selectFrom('limit_states')
    .selectAll()
    .where(({ or, eb }) =>
      or(subjects.map((of) => eb.and([eb('scope', '=', of.scope), eb('subject', '=', of.subject)]))),
    )
    .execute()
}
