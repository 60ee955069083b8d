import { sql } from 'kysely'
import type { AlertFacts, AlertKind, ChosenRule } from '../../rules/alerts.ts'
import type { Db } from '../database.ts'

/** The alerts that a project wants, and those that it had. */

export async function listAlertRules(db: Db, projectId: string): Promise<ChosenRule[]> {
  return db
    .selectFrom('alert_rules')
    .select(['kind', 'enabled', 'threshold'])
    .where('project_id', '=', projectId)
    .execute()
}

export async function setAlertRule(tx: Db, projectId: string, rule: ChosenRule): Promise<void> {
  const values = { enabled: rule.enabled, threshold: rule.threshold }
  await tx
    .insertInto('alert_rules')
    .values({ project_id: projectId, kind: rule.kind, ...values })
    .onConflict((conflict) => conflict.columns(['project_id', 'kind']).doUpdateSet(values))
    .execute()
}

export interface AlertRow {
  id: string
  kind: string
  subject: string
  facts: AlertFacts
  openedAt: Date
  closedAt: Date | null
  /** The project was notified that it opened. */
  isTold: boolean
}

const COLUMNS = sql`id, kind, subject, facts, opened_at as "openedAt", closed_at as "closedAt", told as "isTold"`

export async function listOpenAlerts(tx: Db, projectId: string): Promise<AlertRow[]> {
  const { rows } = await sql<AlertRow>`
    select ${COLUMNS} from alerts where project_id = ${projectId} and closed_at is null order by id desc limit 500`.execute(
    tx,
  )
  return rows
}

/** Lists the alerts that are over, newest first. */
export async function listClosedAlerts(
  tx: Db,
  projectId: string,
  { before, most }: { before: string | undefined; most: number },
): Promise<AlertRow[]> {
  const { rows } = await sql<AlertRow>`
    select ${COLUMNS} from alerts where project_id = ${projectId} and closed_at is not null
      ${before === undefined ? sql`` : sql`and id < ${before}::uuid`} order by id desc limit ${most}`.execute(tx)
  return rows
}

export interface NewAlert {
  id: string
  projectId: string
  kind: AlertKind
  subject: string
  facts: AlertFacts
  /** Left out: it is. */
  isTold?: boolean
}

/** How often in the last 24 hours it was told that one like it had opened. */
export async function countToldOfDay(
  tx: Db,
  projectId: string,
  { kind, subject }: Pick<NewAlert, 'kind' | 'subject'>,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from alerts where project_id = ${projectId} and kind = ${kind} and subject = ${subject}
      and told and opened_at > now() - interval '24 hours'`.execute(tx)
  return rows[0]?.count ?? 0
}

/** Whether people may be written to of this alert: not when they were so often in the last 24 hours. It counts from now. */
export async function takeMailOfDay(tx: Db, projectId: string, id: string, most: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update alerts set mailed_at = mailed_at || now() where id = ${id} and project_id = ${projectId} and ${most} > (
      select count(*) from alerts a, unnest(a.mailed_at) as mailed (at)
      where a.project_id = ${projectId} and mailed.at > now() - interval '24 hours')`.execute(tx)
  return numAffectedRows === 1n
}

/** False when it is open already: another worker has seen it first. */
export async function openAlert(tx: Db, alert: NewAlert): Promise<boolean> {
  const { id, projectId, kind, subject, facts, isTold = true } = alert
  const { numAffectedRows } = await sql`
    insert into alerts (id, project_id, kind, subject, facts, told)
    values (${id}, ${projectId}, ${kind}, ${subject}, ${JSON.stringify(facts)}::json, ${isTold})
    on conflict (project_id, kind, subject) where closed_at is null do nothing`.execute(tx)
  return numAffectedRows === 1n
}

/** Undefined when it was closed before. */
export async function closeAlert(tx: Db, projectId: string, id: string): Promise<AlertRow | undefined> {
  const { rows } = await sql<AlertRow>`
    update alerts set closed_at = now() where id = ${id} and project_id = ${projectId} and closed_at is null
    returning ${COLUMNS}`.execute(tx)
  return rows[0]
}

/** With the project. */
export async function deleteAlerts(tx: Db, projectId: string): Promise<void> {
  await tx.deleteFrom('alerts').where('project_id', '=', projectId).execute()
  await tx.deleteFrom('alert_rules').where('project_id', '=', projectId).execute()
}

/** Deletes alerts that were over long ago. Returns how many. */
export async function forgetAlerts(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from alerts where id in (
      select id from alerts where closed_at < now() - ${keptMs} * interval '1 ms' order by closed_at limit ${most})`.execute(
    db,
  )
  return Number(numAffectedRows ?? 0n)
}
