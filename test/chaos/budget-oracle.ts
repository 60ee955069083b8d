/**
 * Compares the promised budgets with the payments in PostgreSQL. It reads charges and late collections, and whom each call
 * was for. It never reads the ledger's own counts for limits, except to compare them with the payments.
 */
import { sql } from 'kysely'
import type { LimitScope } from '../../src/rules/billing/limits.ts'
import { NO_LIMITS, replaceLimits } from '../../src/store/billing/limits.ts'
import type { Store } from '../../src/store/database.ts'

export type Period = 'day' | 'week' | 'month' | 'total'

export interface Budget {
  /** Not `end_users`: each end user of a project has a budget of its own. */
  scope: Exclude<LimitScope, 'end_users'>
  subject: string
  period: Period
  nanos: bigint
}

export interface BudgetVerdict {
  exceeded: string[]
  /** More is left than what one call holds, although somebody asked until there was no more. */
  unused: string[]
  /** Where what is counted is not what was paid, or something is still held. */
  drift: string[]
}

interface Spent {
  scope: string
  subject: string
  period: Period
  /** The most of any day, week or month. */
  most: bigint
  /** The total of the current day, week or month. */
  now: bigint
}

/** `isAskedFor`: whether there was demand for all of it, to the end. */
export async function judgeBudgets(
  store: Store,
  budgets: readonly Budget[],
  isAskedFor: (budget: Budget) => boolean,
): Promise<BudgetVerdict> {
  const spent = new Map((await spentBy(store)).map((row) => [keyOf(row), row]))
  const oneHold = await largestHold(store)
  const exceeded: string[] = []
  const unused: string[] = []
  for (const budget of budgets) {
    const { most, now } = spent.get(keyOf(budget)) ?? { most: 0n, now: 0n }
    const name = `${budget.scope} ${budget.subject}: ${budget.nanos} a ${budget.period}`
    if (most > budget.nanos) exceeded.push(`${name}, ${most} spent`)
    if (isAskedFor(budget) && budget.nanos - now > oneHold)
      unused.push(`${name}, ${now} spent, a call holds ${oneHold}`)
  }
  return { exceeded, unused, drift: await driftOf(store, spent) }
}

const keyOf = ({ scope, subject, period }: Pick<Budget, 'scope' | 'subject' | 'period'> | Spent) =>
  `${scope} ${subject} ${period}`

/** Returns the spending of all publishers, projects, key pairs and end users. For `total`, all time is one period. */
async function spentBy(store: Store): Promise<Spent[]> {
  const { rows } = await sql<Spent>`
    with paid as (
      select c.id, c.project_id, c.key_pair_id, c.charged_nanos as nanos, c.settled_at as at from charges c
      union all
      select c.id, c.project_id, c.key_pair_id, t.amount_nanos, t.created_at
      from transfers t join charges c on c.id = t.corrects where t.kind = 'late_charge'
    ), of_subject as (
      select s.scope, s.subject, m.nanos, m.at
      from paid m join projects p on p.id = m.project_id join calls k on k.id = m.id
        cross join lateral (values ('publisher', p.publisher_id), ('project', m.project_id), ('key_pair', m.key_pair_id),
          ('end_user', k.end_user_id)) as s (scope, subject)
      where s.subject is not null
    ), of_period as (
      select s.scope, s.subject, d.period, d.starts_at, d.is_now, sum(s.nanos)::int8 as nanos
      from of_subject s cross join lateral (values
          ('day', date_trunc('day', s.at, 'UTC'), s.at >= date_trunc('day', now(), 'UTC')),
          ('week', date_trunc('week', s.at, 'UTC'), s.at >= date_trunc('week', now(), 'UTC')),
          ('month', date_trunc('month', s.at, 'UTC'), s.at >= date_trunc('month', now(), 'UTC')),
          ('total', '-infinity', true)) as d (period, starts_at, is_now)
      group by s.scope, s.subject, d.period, d.starts_at, d.is_now
    )
    select scope, subject, period, max(nanos) as most, coalesce(sum(nanos) filter (where is_now), 0)::int8 as now
    from of_period group by scope, subject, period`.execute(store.db)
  return rows
}

async function largestHold(store: Store): Promise<bigint> {
  const { rows } = await sql<{ most: bigint }>`select coalesce(max(held_nanos), 0) as most from charges`.execute(
    store.db,
  )
  return rows[0]?.most ?? 0n
}

async function driftOf(store: Store, spent: ReadonlyMap<string, Spent>): Promise<string[]> {
  const counts = await store.db.selectFrom('limit_states').selectAll().execute()
  return counts.flatMap((count) => {
    const { scope, subject, held_nanos: held, open_holds: open } = count
    const paid = (period: Period) => spent.get(`${scope} ${subject} ${period}`)?.now ?? 0n
    const found: string[] = []
    if (held !== 0n || open !== 0) found.push(`${scope} ${subject} holds ${held} nanos for ${open} calls`)
    for (const period of ['day', 'week', 'month', 'total'] as const) {
      const counted = count[`${period}_spent`]
      if (counted !== paid(period))
        found.push(`${scope} ${subject}: ${counted} counted this ${period}, ${paid(period)} paid`)
    }
    return found
  })
}

/** Budgets that begin before the first call, so that all of them is counted. */
export async function setBudget(
  store: Store,
  of: { publisherId: string; projectId: string | null },
  scope: LimitScope,
  subject: string,
  budget: Partial<Record<Period, bigint>>,
): Promise<void> {
  const { day = null, week = null, month = null, total = null } = budget
  const values = { ...NO_LIMITS, day_nanos: day, week_nanos: week, month_nanos: month, total_nanos: total }
  await replaceLimits(store.db, { scope, subject, ...of }, values)
}
