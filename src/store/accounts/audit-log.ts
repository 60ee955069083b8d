import { sql } from 'kysely'
import type { Db } from '../database.ts'

/** The audit log. The database numbers and chains its entries (functions/audit_log_chain.sql) and lets none be changed. */

/** Stands for the publisher in entries about what belongs to none: no tenant can have this id, so none sees them. */
export const INSTALLATION = '00000000-0000-0000-0000-000000000000'

export interface AuditEntry {
  /** Or INSTALLATION. */
  publisherId: string
  actorId: string | null
  actor: string
  action: string
  subject: string | null
  projectId: string | null
  ip: string | null
  userAgent: string | null
  details: Record<string, unknown>
}

export async function appendAuditLog(tx: Db, entry: AuditEntry): Promise<void> {
  await sql`
    insert into audit_log (publisher_id, actor_id, actor, action, subject, project_id, ip, user_agent, details)
    values (${entry.publisherId}, ${entry.actorId}, ${entry.actor}, ${entry.action}, ${entry.subject}, ${entry.projectId},
      ${entry.ip}, ${entry.userAgent}, ${JSON.stringify(entry.details)}::jsonb)`.execute(tx)
}

export interface AuditFilters {
  action?: string
  actorId?: string
  projectId?: string
  from?: Date
  to?: Date
  /** Only entries before this number. */
  before?: bigint
}

/** Newest first. */
export async function listAuditLog(tx: Db, publisherId: string, filters: AuditFilters, most: number) {
  let query = tx
    .selectFrom('audit_log')
    .select(['seq', 'at', 'actor_id', 'actor', 'action', 'subject', 'project_id', 'ip', 'user_agent', 'details'])
    .where('publisher_id', '=', publisherId)
  if (filters.action !== undefined) query = query.where('action', '=', filters.action)
  if (filters.actorId !== undefined) query = query.where('actor_id', '=', filters.actorId)
  if (filters.projectId !== undefined) query = query.where('project_id', '=', filters.projectId)
  if (filters.from !== undefined) query = query.where('at', '>=', filters.from)
  if (filters.to !== undefined) query = query.where('at', '<', filters.to)
  if (filters.before !== undefined) query = query.where('seq', '<', filters.before)
  return query.orderBy('seq', 'desc').limit(most).execute()
}

/** How many entries of the last 24 hours have this among their details. */
export async function countOfDay(
  tx: Db,
  { publisherId, projectId }: { publisherId: string; projectId: string },
  { action, detail }: { action: string; detail: string },
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int4 as count from audit_log
    where publisher_id = ${publisherId} and project_id = ${projectId} and action = ${action}
      and details ? ${detail} and at > now() - interval '24 hours'`.execute(tx)
  return rows[0]?.count ?? 0
}

/** In hex. What an entry says and all entries before it are in it: kept elsewhere, it shows whether these were replaced. */
export async function digestOfEntry(db: Db, publisherId: string, seq: bigint): Promise<string | undefined> {
  const { rows } = await sql<{ digest: string }>`
    select encode(digest, 'hex') as digest from audit_log where publisher_id = ${publisherId} and seq = ${seq}`.execute(
    db,
  )
  return rows[0]?.digest
}

/** The number of the first entry that does not fit the one before it, or was altered; undefined when all is well. */
export async function firstBrokenEntry(db: Db, publisherId: string): Promise<bigint | undefined> {
  const { rows } = await sql<{ seq: bigint }>`
    select seq from (
      select l.seq, l.digest = audit_log_digest(l)
        and l.seq = row_number() over (order by l.seq)
        and l.previous_digest = coalesce(lag(l.digest) over (order by l.seq), decode(repeat('00', 32), 'hex')) as is_sound
      from audit_log l where l.publisher_id = ${publisherId}) checked
    where not is_sound order by seq limit 1`.execute(db)
  return rows[0]?.seq
}
