import { sql } from 'kysely'
import { OLD_SECRET_MS } from '../../rules/webhooks.ts'
import type { Db } from '../database.ts'

/** Where a project's events are sent. */

export interface EndpointRow {
  id: string
  url: string
  eventTypes: string[]
  enabled: boolean
  offBecause: 'asked' | 'failing' | null
  failingSince: Date | null
  /** Until then the secret before it signs, too. */
  oldSecretEndsAt: Date | null
  createdAt: Date
}

const COLUMNS = sql`e.id, e.url, e.event_types as "eventTypes", e.enabled, e.off_because as "offBecause",
  e.failing_since as "failingSince", case when e.old_secret_ends_at > now() then e.old_secret_ends_at end as "oldSecretEndsAt",
  e.created_at as "createdAt"`

export async function listEndpoints(db: Db, projectId: string): Promise<EndpointRow[]> {
  const { rows } = await sql<EndpointRow>`
    select ${COLUMNS} from webhook_endpoints e where e.project_id = ${projectId} order by e.created_at, e.id`.execute(
    db,
  )
  return rows
}

/** Nobody else changes it until the transaction ends. */
export async function lockEndpoint(tx: Db, projectId: string, id: string): Promise<EndpointRow | undefined> {
  const { rows } = await sql<EndpointRow>`
    select ${COLUMNS} from webhook_endpoints e where e.id = ${id}::uuid and e.project_id = ${projectId} for update`.execute(
    tx,
  )
  return rows[0]
}

export interface NewEndpoint {
  id: string
  projectId: string
  url: string
  eventTypes: readonly string[]
  sealedSecret: string
}

export async function insertEndpoint(tx: Db, endpoint: NewEndpoint): Promise<void> {
  const { id, projectId, url, eventTypes, sealedSecret } = endpoint
  await tx
    .insertInto('webhook_endpoints')
    .values({ id, project_id: projectId, url, event_types: [...eventTypes], sealed_secret: sealedSecret })
    .execute()
}

/** Changes an endpoint. A new URL, or switching it on, starts afresh: earlier failures say nothing of what is there now. */
export async function changeEndpoint(
  tx: Db,
  projectId: string,
  id: string,
  change: { url: string; eventTypes: readonly string[]; offBecause: 'asked' | 'failing' | null; isNew: boolean },
): Promise<void> {
  const { url, eventTypes, offBecause, isNew } = change
  await tx
    .updateTable('webhook_endpoints')
    .set({ url, event_types: [...eventTypes], enabled: offBecause === null, off_because: offBecause })
    .$if(isNew, (query) => query.set({ failing_since: null }))
    .where('id', '=', id)
    .where('project_id', '=', projectId)
    .execute()
}

export async function replaceEndpointSecret(
  tx: Db,
  projectId: string,
  id: string,
  sealedSecret: string,
): Promise<Date> {
  const { rows } = await sql<{ endsAt: Date }>`
    update webhook_endpoints set old_sealed_secret = sealed_secret, sealed_secret = ${sealedSecret},
      old_secret_ends_at = now() + ${OLD_SECRET_MS} * interval '1 ms'
    where id = ${id} and project_id = ${projectId} returning old_secret_ends_at as "endsAt"`.execute(tx)
  const [row] = rows
  if (!row) throw new Error('the endpoint was locked and is gone')
  return row.endsAt
}

/** Its deliveries go with it. */
export async function deleteEndpoint(tx: Db, projectId: string, id: string): Promise<void> {
  await tx.deleteFrom('webhook_endpoints').where('id', '=', id).where('project_id', '=', projectId).execute()
}

/** With the project: also what waits to be sent. */
export async function deleteWebhooks(tx: Db, projectId: string): Promise<void> {
  await tx.deleteFrom('webhook_endpoints').where('project_id', '=', projectId).execute()
  await tx.deleteFrom('webhook_events').where('project_id', '=', projectId).execute()
}

export interface FailingEndpoint {
  id: string
  projectId: string
  publisherId: string
  project: string
}

/** On, and without a single success for so long. */
export async function listFailingEndpoints(db: Db, forMs: number, most: number): Promise<FailingEndpoint[]> {
  const { rows } = await sql<FailingEndpoint>`
    select e.id, e.project_id as "projectId", p.publisher_id as "publisherId", p.name as project
    from webhook_endpoints e join projects p on p.id = e.project_id
    where e.enabled and e.failing_since <= now() - ${forMs} * interval '1 ms' order by e.id limit ${most}`.execute(db)
  return rows
}

/** Lists the secrets of all projects; the version of the root secret is still to be read from each. */
export async function listSealedSecrets(db: Db): Promise<{ id: string; sealed: string; old: string | null }[]> {
  return db
    .selectFrom('webhook_endpoints')
    .select(['id', 'sealed_secret as sealed', 'old_sealed_secret as old'])
    .orderBy('id')
    .execute()
}

/** The same secrets, sealed anew. Whoever has rolled them meanwhile keeps theirs. */
export async function replaceSealed(
  tx: Db,
  id: string,
  before: { sealed: string; old: string | null },
  after: { sealed: string; old: string | null },
): Promise<void> {
  await tx
    .updateTable('webhook_endpoints')
    .set({ sealed_secret: after.sealed, old_sealed_secret: after.old })
    .where('id', '=', id)
    .where('sealed_secret', '=', before.sealed)
    .execute()
}

/** Secrets that sign nothing any more. Returns how many. */
export async function forgetOldSecrets(db: Db): Promise<number> {
  const { numAffectedRows } = await sql`
    update webhook_endpoints set old_sealed_secret = null, old_secret_ends_at = null
    where old_secret_ends_at <= now()`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
