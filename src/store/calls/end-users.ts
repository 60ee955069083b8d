import { sql } from 'kysely'
import { uuidOf } from '../../platform/uuid.ts'
import type { Db, Tx } from '../database.ts'
import { deleteMetadataOfEndUser } from './metadata.ts'
import { keyedDigest } from '../../rules/keyed-digest.ts'

/** The id that replaces the publisher's own everywhere: a keyed digest, another one in each project. */
export function endUserDigestOf(key: Buffer, projectId: string, endUser: string): string {
  return uuidOf(keyedDigest(key).update(`${projectId}/${endUser}`).digest())
}

export interface SeenEndUser {
  projectId: string
  id: string
  label: string | undefined
  at: Date
}

/** A label that is sent once stays until another one is sent. Who was erased since is not noted. */
export async function noteEndUsers(db: Db, seen: readonly SeenEndUser[]): Promise<void> {
  if (seen.length === 0) return
  // In the order of their keys: two gateways that write the same rows never wait for each other in a circle.
  const rows = seen.toSorted((a, b) => (a.projectId + a.id < b.projectId + b.id ? -1 : 1))
  await sql`
    insert into end_users (project_id, id, label, first_seen_at, last_seen_at)
    select project_id, id, label, at, at
    from unnest(${rows.map(({ projectId }) => projectId)}::uuid[], ${rows.map(({ id }) => id)}::uuid[],
      ${rows.map(({ label = null }) => label)}::text[], ${rows.map(({ at }) => at)}::timestamptz[])
      with ordinality as seen (project_id, id, label, at, place)
    where not exists (select from end_user_erasures e
      where e.project_id = seen.project_id and e.end_user_id = seen.id and e.erased_at >= at)
    order by place
    on conflict (project_id, id) do update set label = coalesce(excluded.label, end_users.label),
      last_seen_at = greatest(excluded.last_seen_at, end_users.last_seen_at)`.execute(db)
}

/** Forgets end users who were not seen for so long, except those with limits of their own. Returns how many. */
export async function forgetEndUsers(db: Db, keptMs: number, most: number): Promise<number> {
  // By project, because that is how the rows are found.
  const { numAffectedRows } = await sql`
    delete from end_users where (project_id, id) in (
      select e.project_id, e.id from projects p cross join lateral (
        select e.project_id, e.id from end_users e
        where e.project_id = p.id and e.last_seen_at < now() - ${keptMs} * interval '1 ms'
          and not exists (select from limits l where l.scope = 'end_user' and l.subject = e.id)
        limit ${most}) e
      limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/**
 * Forgets who was erased so long ago, and erases again who came back all the same: an older version does not know of
 * erasures, and one that was committed a moment ago may not have been seen. Returns how many erasures were forgotten.
 */
export async function forgetErasures(db: Db, keptMs: number, most: number): Promise<number> {
  await sql`delete from end_users u using end_user_erasures e
    where u.project_id = e.project_id and u.id = e.end_user_id and u.last_seen_at <= e.erased_at`.execute(db)
  const { numAffectedRows } = await sql`
    delete from end_user_erasures where (project_id, end_user_id) in (
      select project_id, end_user_id from end_user_erasures
      where erased_at < now() - ${keptMs} * interval '1 ms' limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

export async function forgetEndUserDays(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from end_user_days where (project_id, end_user_id, starts_at) in (
      select project_id, end_user_id, starts_at from end_user_days
      where starts_at < now() - ${keptMs} * interval '1 ms' limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/** Every project that counts end users. */
export async function listProjectsOfCountedEndUsers(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('limit_counts')
    .select('project_id')
    .distinct()
    .where('scope', '=', 'end_user')
    .where('project_id', 'is not', null)
    .$narrowType<{ project_id: string }>()
    .execute()
  return rows.map(({ project_id }) => project_id)
}

/** Forgets what was counted of end users in months that are over. Returns how many; none while the wallet is locked. */
export async function forgetEndUserCounts(db: Db, projectId: string, most: number): Promise<number> {
  const { rows } = await sql<{ forgotten: number }>`
    select limits_forget(${projectId}::uuid, ${most}::int) as forgotten`.execute(db)
  return rows[0]?.forgotten ?? 0
}

export interface EndUserKey {
  projectId: string
  id: string
}

export async function findEndUser(db: Db, { projectId, id }: EndUserKey) {
  return db
    .selectFrom('end_users')
    .select(['id', 'label'])
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Returns false when there is no such end user. */
export async function deleteEndUser(tx: Tx, { projectId, id }: EndUserKey): Promise<boolean> {
  // First, because it locks them: metadata that is written from now on waits until they are gone.
  const { numDeletedRows } = await tx
    .deleteFrom('end_users')
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst()
  // Also of one that was forgotten meanwhile: metadata may be kept for longer.
  const hadMetadata = await deleteMetadataOfEndUser(tx, { projectId, id })
  if (numDeletedRows === 0n && !hadMetadata) return false
  await tx.deleteFrom('end_user_days').where('project_id', '=', projectId).where('end_user_id', '=', id).execute()
  await sql`select limits_erase(${projectId}, ${id})`.execute(tx)
  await sql`insert into end_user_erasures (project_id, end_user_id, erased_at) values (${projectId}, ${id}, now())
    on conflict (project_id, end_user_id) do update set erased_at = excluded.erased_at`.execute(tx)
  return true
}
