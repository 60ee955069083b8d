import { sql } from 'kysely'
import type { Db } from '../database.ts'

/** Browser sessions as their publishers see them. Those that are over are not among them. */
export interface BrowserSessionRow {
  id: string
  secretLast4: string
  keyId: string
  keyName: string
  publishableKey: string
  keyActive: boolean
  keyExpiresAt: Date | null
  endUserId: string | null
  endUserLabel: string | null
  models: string[] | null
  origins: string[] | null
  maxTokens: number | null
  callsMade: number
  callsMax: number
  money: bigint
  spent: bigint
  held: bigint
  createdAt: Date
  expiresAt: Date
}

export interface ListOptions {
  keyPairId?: string | undefined
  /** The last one of the page before. */
  after?: string | undefined
  most: number
}

/** Newest first: an id begins with when it was made. */
export async function listBrowserSessions(
  db: Db,
  projectId: string,
  { keyPairId, after, most }: ListOptions,
): Promise<BrowserSessionRow[]> {
  // By pair, because that is how the rows are found; what belongs to them is looked up for one page.
  const { rows } = await sql<BrowserSessionRow>`
    select s.id, s.secret_last4 as "secretLast4", k.id as "keyId", k.name as "keyName",
      k.publishable_key as "publishableKey", k.active as "keyActive", k.expires_at as "keyExpiresAt",
      s.end_user_id as "endUserId", u.label as "endUserLabel", s.models, s.origins, s.max_tokens as "maxTokens",
      s.calls_made as "callsMade", s.calls_max as "callsMax", coalesce(l.total_nanos, 0) as money,
      coalesce(l.total_spent, 0) as spent, coalesce(l.held_nanos, 0) as held, s.created_at as "createdAt",
      s.expires_at as "expiresAt"
    from (
      select b.* from (${columnsOf}) b
      where b.key_pair_id = any (array(select p.id from key_pairs p
          where p.project_id = ${projectId} and p.deleted_at is null
            and (${keyPairId ?? null}::uuid is null or p.id = ${keyPairId ?? null}::uuid)))
        and b.project_id = ${projectId} and b.expires_at > now()
        and (${after ?? null}::uuid is null or b.id < ${after ?? null}::uuid)
      order by b.id desc limit ${most}
    ) s
      join key_pairs k on k.id = s.key_pair_id
      left join end_users u on u.project_id = s.project_id and u.id = s.end_user_id
      left join limit_states l on l.scope = 'session' and l.subject = s.id
    order by s.id desc`.execute(db)
  return rows
}

/** A tenant's login may not read the digest. */
const columnsOf = sql`select id, project_id, key_pair_id, secret_last4, end_user_id, models, max_tokens, origins, calls_max,
  calls_made, created_at, expires_at from browser_sessions`

export interface BrowserSessionKey {
  projectId: string
  id: string
}

/** Finds a session that is not over. */
export async function findBrowserSession(db: Db, { projectId, id }: BrowserSessionKey) {
  return db
    .selectFrom('browser_sessions as s')
    .innerJoin('key_pairs as k', 'k.id', 's.key_pair_id')
    .select(['s.id', 's.secret_last4', 'k.name', 'k.publishable_key'])
    .where('s.project_id', '=', projectId)
    .where('s.id', '=', id)
    .where('s.expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
}

/** The project of a session, for the operator who has only its id. */
export async function findProjectOfBrowserSession(db: Db, id: string): Promise<string | undefined> {
  const row = await db.selectFrom('browser_sessions').select('project_id').where('id', '=', id).executeTakeFirst()
  return row?.project_id
}

/** The store's clock decides, as it does for every call. Returns how many there were. */
export async function endBrowserSessions(
  tx: Db,
  projectId: string,
  which: { id: string } | { keyPairId: string },
): Promise<number> {
  const query = tx
    .updateTable('browser_sessions')
    .set({ expires_at: sql`least(expires_at, clock_timestamp())` })
    .where('project_id', '=', projectId)
    .where('expires_at', '>', sql<Date>`now()`)
  const { numUpdatedRows } = await (
    'id' in which ? query.where('id', '=', which.id) : query.where('key_pair_id', '=', which.keyPairId)
  ).executeTakeFirst()
  return Number(numUpdatedRows)
}
