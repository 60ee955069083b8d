import { sql } from 'kysely'
import type { Nanos } from '../../rules/money.ts'
import type { Db } from '../database.ts'

/** Below which balance a project's owners are told, once for each time that the balance falls below it. */

export async function findAlert(db: Db, projectId: string): Promise<Nanos | undefined> {
  const row = await db
    .selectFrom('wallet_alerts')
    .select('threshold_nanos')
    .where('project_id', '=', projectId)
    .executeTakeFirst()
  return row?.threshold_nanos
}

/** Sets the threshold. An owner whose balance is below it already knows: only the next fall is reported. */
export async function setAlert(tx: Db, projectId: string, threshold: Nanos): Promise<void> {
  await sql`
    insert into wallet_alerts (project_id, threshold_nanos, told_at)
    select w.project_id, ${threshold}, case when w.balance_nanos < ${threshold}::int8 then now() end
    from wallets w where w.project_id = ${projectId}
    on conflict (project_id) do update set threshold_nanos = excluded.threshold_nanos, told_at = excluded.told_at`.execute(
    tx,
  )
}

export async function deleteAlert(tx: Db, projectId: string): Promise<void> {
  await tx.deleteFrom('wallet_alerts').where('project_id', '=', projectId).execute()
}

/** Makes wallets that have enough again due for an alert at their next fall. */
export async function rearmAlerts(db: Db): Promise<void> {
  await sql`update wallet_alerts a set told_at = null from wallets w
    where w.project_id = a.project_id and a.told_at is not null and w.balance_nanos >= a.threshold_nanos`.execute(db)
}

export interface DueAlert {
  projectId: string
  publisherId: string
  project: string
  balance: Nanos
  threshold: Nanos
}

export async function listDueAlerts(db: Db, most: number): Promise<DueAlert[]> {
  const { rows } = await sql<DueAlert>`
    select a.project_id as "projectId", p.publisher_id as "publisherId", p.name as project, w.balance_nanos as balance,
      a.threshold_nanos as threshold
    from wallet_alerts a join wallets w on w.project_id = a.project_id join projects p on p.id = a.project_id
    where a.told_at is null and w.balance_nanos < a.threshold_nanos order by a.project_id limit ${most}`.execute(db)
  return rows
}

/** False when another worker has told in this very moment, or somebody has changed the alert. */
export async function markTold(tx: Db, { projectId, threshold }: DueAlert): Promise<boolean> {
  const result = await tx
    .updateTable('wallet_alerts')
    .set({ told_at: sql`now()` })
    .where('project_id', '=', projectId)
    .where('threshold_nanos', '=', threshold)
    .where('told_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}
