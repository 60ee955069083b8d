import { sql } from 'kysely'
import { CALL_OUTCOMES } from '../../rules/billing/charging.ts'
import type { BudgetState } from '../../rules/billing/limits.ts'
import { FAILURES } from '../../rules/billing/usage-counts.ts'
import type { ChosenRule, OpenAlert, ProjectFacts } from '../../rules/alerts.ts'
import type { Db } from '../database.ts'

/** The facts that alerts are judged by, for many projects at a time: each is looked up by id, however many calls it has. */

export interface WatchedProject extends Omit<ProjectFacts, 'models'> {
  id: string
  publisherId: string
  name: string
  rules: ChosenRule[]
  open: OpenAlert[]
  /** Called in the last day. */
  models: string[]
}

const FAILED = sql.join(
  CALL_OUTCOMES.flatMap((outcome, n) =>
    FAILURES.has(outcome) ? [sql`coalesce(u.outcomes[${sql.lit(n + 1)}], 0)`] : [],
  ),
  sql` + `,
)

/** Lists the projects after `after`, in the order of ids. */
export async function listWatchedProjects(db: Db, after: string, most: number): Promise<WatchedProject[]> {
  const { rows } = await sql<Row>`
    select p.id, p.publisher_id as "publisherId", p.name, p.is_sandbox as "isSandbox", w.balance_nanos as balance, a.threshold_nanos as "walletAlert",
      d.name as domain, d.failing_since as "domainFailingSince", lately.calls, lately.failures, lately.models,
      days.today as "spentToday", days.before as "spentBefore", chosen.rules, standing.open
    from projects p join wallets w on w.project_id = p.id join domains d on d.project_id = p.id
      left join wallet_alerts a on a.project_id = p.id
      cross join lateral (
        select coalesce(sum(u.calls) filter (where is_recent), 0)::int4 as calls,
          coalesce(sum(${FAILED}) filter (where is_recent), 0)::int4 as failures,
          coalesce(array_agg(distinct u.model_id) filter (where u.model_id is not null), '{}') as models
        from (select u.*, u.starts_at >= date_trunc('hour', now()) - interval '1 hour' as is_recent from usage_hours u
          where u.project_id = p.id and u.starts_at > now() - interval '1 day') u) lately
      cross join lateral (
        select coalesce(sum(u.charged_nanos) filter (where u.starts_at = date_trunc('day', now(), 'UTC')), 0)::int8 as today,
          coalesce(sum(u.charged_nanos) filter (where u.starts_at < date_trunc('day', now(), 'UTC')), 0)::int8 as before
        from usage_days u where u.project_id = p.id
          and u.starts_at >= date_trunc('day', now(), 'UTC') - interval '7 days') days
      cross join lateral (
        select coalesce(json_agg(json_build_object('kind', r.kind, 'enabled', r.enabled, 'threshold', r.threshold::text)), '[]')
          as rules from alert_rules r where r.project_id = p.id) chosen
      cross join lateral (
        select coalesce(json_agg(json_build_object('id', s.id, 'kind', s.kind, 'subject', s.subject)), '[]') as open
        from alerts s where s.project_id = p.id and s.closed_at is null) standing
    where p.archived_at is null and p.id > ${after}::uuid order by p.id limit ${most}`.execute(db)
  const budgets = await listBudgets(
    db,
    rows.map(({ id }) => id),
  )
  return rows.map((row) => Object.assign(row, { rules: row.rules.map(chosenOf), budgets: budgets.get(row.id) ?? [] }))
}

type Row = Omit<WatchedProject, 'rules' | 'budgets'> & { rules: ToldRule[] }

/** A rule as JSON can hold it. */
interface ToldRule {
  kind: string
  enabled: boolean
  threshold: string | null
}

function chosenOf({ kind, enabled, threshold }: ToldRule): ChosenRule {
  return { kind, enabled, threshold: threshold === null ? null : BigInt(threshold) }
}

type Budget = ProjectFacts['budgets'][number]

/**
 * Lists the budgets of projects and key pairs that are not deleted. Those of end users are too many to report, and no news
 * where they are meant to be used up.
 */
async function listBudgets(db: Db, projectIds: readonly string[]): Promise<Map<string, Budget[]>> {
  const { rows } = await sql<
    BudgetState & { projectId: string; scope: Budget['scope']; subject: string; name: string }
  >`
    select l.project_id as "projectId", l.scope, l.subject, coalesce(k.name, '') as name, s.held_nanos, s.day_nanos, s.day_spent,
      s.week_nanos, s.week_spent, s.month_nanos, s.month_spent, s.total_nanos, s.total_spent
    from limits l join limit_states s on s.scope = l.scope and s.subject = l.subject
      left join key_pairs k on l.scope = 'key_pair' and k.id = l.subject
    where l.project_id = any(${projectIds}::uuid[]) and l.scope in ('project', 'key_pair') and k.deleted_at is null
    order by l.scope, l.subject`.execute(db)
  return Map.groupBy(rows, ({ projectId }) => projectId)
}

/** Returns the names of the providers that serve each model. */
export async function listProvidersOfModels(db: Db): Promise<Map<string, string[]>> {
  const { rows } = await sql<{ model: string; providers: string[] }>`
    select d.model_id as model, array_agg(distinct p.name) as providers
    from deployments d join providers p on p.id = d.provider_id where d.enabled group by 1`.execute(db)
  return new Map(rows.map(({ model, providers }) => [model, providers]))
}
