import { sql } from 'kysely'
import type { Db } from '../database.ts'

/** Says that a gateway lives, which keeps the leases of all its holds, and which secrets it has. Returns what time it is at the store. */
export async function beat(db: Db, gatewayId: string, secretVersions: readonly number[]): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`
    insert into gateways (id, secret_versions) values (${gatewayId}, ${secretVersions})
    on conflict (id) do update set beat_at = now() returning clock_timestamp() as now`.execute(db)
  return rows[0]?.now ?? new Date()
}

/** Gateways that live. `secret_versions` is null where one does not say. */
export async function listLiveGateways(db: Db, leaseMs: number) {
  return db
    .selectFrom('gateways')
    .select(['id', 'started_at', 'secret_versions'])
    .where('beat_at', '>', sql<Date>`now() - ${leaseMs} * interval '1 ms'`)
    .orderBy('started_at')
    .execute()
}

/** A gateway that ended in order: nothing of it is left to sweep. */
export async function removeGateway(db: Db, gatewayId: string): Promise<void> {
  await db.deleteFrom('gateways').where('id', '=', gatewayId).execute()
}

/** Holds of this gateway that are older than `olderThanMs` and belong to none of its running calls. */
export async function findOldHolds(
  db: Db,
  gatewayId: string,
  olderThanMs: number,
  most: number,
  running: readonly string[],
) {
  return (
    db
      .selectFrom('holds')
      .select(['id', 'project_id'])
      .where('gateway_id', '=', gatewayId)
      .where('held_at', '<', sql<Date>`now() - ${olderThanMs} * interval '1 ms'`)
      // Here, and not by the caller: a hundred long streams would fill the limit and hide the rest.
      .where(sql<boolean>`id <> all (${running}::uuid[])`)
      .limit(most)
      .execute()
  )
}

/** Forgets gateways that have been silent for so long and hold nothing. */
export async function forgetDeadGateways(db: Db, silentMs: number): Promise<void> {
  await sql`
    delete from gateways g where g.beat_at < now() - ${silentMs} * interval '1 ms'
      and not exists (select 1 from holds h where h.gateway_id = g.id)`.execute(db)
}
