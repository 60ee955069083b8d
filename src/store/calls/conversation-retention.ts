import { sql } from 'kysely'
import { FIRST_UUID } from '../../platform/uuid.ts'
import { inTransaction, type Db, type Tx } from '../database.ts'
import type { ConversationKey } from './conversations.ts'

/**
 * Counts of the forgotten remains of conversations whose text is gone: rows, digests of messages, and sums. A deleted
 * conversation keeps its id for as long as its project exists, so that it answers 404.
 */
export interface Forgotten {
  conversations: number
  messages: number
  conversationSums: number
}

const CONVERSATIONS_PER_STEP = 100

/**
 * Forgets some conversations whose last call was so long ago, and whose text is gone. Their messages first, so that one of a
 * hundred thousand takes many short transactions. Who calls with the id of one that is being forgotten waits for a moment,
 * and begins it anew.
 */
export function forgetConversations(db: Db, keptMs: number, most: number): Promise<Forgotten> {
  return inTransaction(db, async (tx) => {
    const due = await lockDue(tx, keptMs)
    const keys = sql`unnest(${due.map(({ projectId }) => projectId)}::uuid[], ${due.map(({ id }) => id)}::text[])`
    const messages = await countOf(
      tx,
      sql`delete from messages where (project_id, conversation_id, digest, occurrence) in (
        select m.project_id, m.conversation_id, m.digest, m.occurrence
        from ${keys} as k (project_id, id) join messages m on m.project_id = k.project_id and m.conversation_id = k.id
        limit ${most})`,
    )
    // There may be more of them: the conversations wait for the next step.
    if (due.length === 0 || messages === most) return { conversations: 0, messages, conversationSums: 0 }
    const conversationSums = await countOf(
      tx,
      sql`delete from conversation_sums where (project_id, conversation_id) in (select * from ${keys} as k (project_id, id))`,
    )
    const conversations = await countOf(
      tx,
      sql`delete from conversations where (project_id, id) in (select * from ${keys} as k (project_id, id))`,
    )
    return { conversations, messages, conversationSums }
  })
}

async function lockDue(tx: Tx, keptMs: number): Promise<ConversationKey[]> {
  const { rows } = await sql<ConversationKey>`
    select c.project_id as "projectId", c.id from projects p cross join lateral (
      select project_id, id from conversations c
      where c.project_id = p.id and c.deleted_at is null
        and c.last_call_at < now() - greatest(p.content_retention_days * interval '1 day', ${keptMs} * interval '1 ms')
        -- Text that its project had promised to keep for longer.
        and not exists (select from messages m where m.project_id = c.project_id and m.conversation_id = c.id
          and m.content is not null and m.content_expires_at > now())
      order by c.last_call_at limit ${CONVERSATIONS_PER_STEP} for update skip locked) c
    limit ${CONVERSATIONS_PER_STEP}`.execute(tx)
  return rows
}

/** Ids of deleted conversations of projects that ended so long ago: nobody can ask for them any more. Returns how many. */
export async function forgetDeletedIds(db: Db, keptMs: number, most: number): Promise<number> {
  return countOf(
    db,
    sql`delete from conversations where (project_id, id) in (
      select c.project_id, c.id from projects p cross join lateral (
        select project_id, id from conversations c
        where c.project_id = p.id and c.deleted_at is not null limit ${most}) c
      where p.archived_at < now() - ${keptMs} * interval '1 ms' limit ${most})`,
  )
}

interface Step {
  /** Nowhere: that was the end. */
  reached: ConversationKey | undefined
  erased: number
}

const FIRST: ConversationKey = { projectId: FIRST_UUID, id: '' }

/** Forgets, in the next conversations after a place, messages that were stored this long ago and no longer have text. */
export async function forgetOldMessages(
  db: Db,
  after: ConversationKey | undefined,
  keptMs: number,
  most: number,
): Promise<Step> {
  const from = after ?? FIRST
  const { rows } = await sql<Looked>`
    with seen as materialized (
      select project_id, id, created_at from conversations
      where (project_id, id) > (${from.projectId}::uuid, ${from.id}) order by project_id, id limit ${most}
    ), erased as (
      delete from messages where (project_id, conversation_id, digest, occurrence) in (
        select m.project_id, m.conversation_id, m.digest, m.occurrence
        from seen s join messages m on m.project_id = s.project_id and m.conversation_id = s.id
        where s.created_at < now() - ${keptMs} * interval '1 ms'
          and m.created_at < now() - ${keptMs} * interval '1 ms' and m.content is null
        limit ${most}) returning 1)
    select project_id as "projectId", id, (select count(*)::int from seen) as seen,
      (select count(*)::int from erased) as erased
    from seen order by project_id desc, id desc limit 1`.execute(db)
  return stepFrom(from, rows[0], most)
}

/** Erases, in the next conversations after a place, what is left in those that an older version deleted. */
export async function eraseLeftovers(db: Db, after: ConversationKey | undefined, most: number): Promise<Step> {
  const from = after ?? FIRST
  const { rows } = await sql<Looked>`
    select project as "projectId", id, seen, erased
    from erase_conversation_leftovers(${from.projectId}::uuid, ${from.id}::text, ${most}::int)`.execute(db)
  return stepFrom(from, rows[0], most)
}

type Looked = ConversationKey & { seen: number; erased: number }

/** `last` is the last of those that were looked at. */
function stepFrom(from: ConversationKey, last: Looked | undefined, most: number): Step {
  if (!last) return { reached: undefined, erased: 0 }
  const { projectId, id, seen, erased } = last
  // There may be more in these.
  if (erased === most) return { reached: from, erased }
  return { reached: seen < most ? undefined : { projectId, id }, erased }
}

/**
 * Erases, among the next sums after a place, those without a conversation. Such sums are left by a call that is added up after
 * its conversation was deleted, or whose conversation could not be stored; the conversation may still be on its way for a day.
 */
export async function forgetLostSums(db: Db, after: ConversationKey | undefined, most: number): Promise<Step> {
  const from = after ?? FIRST
  const { rows } = await sql<Looked>`
    with seen as materialized (
      select project_id, conversation_id from conversation_sums
      where (project_id, conversation_id) > (${from.projectId}::uuid, ${from.id})
      order by project_id, conversation_id limit ${most}
    ), erased as (
      delete from conversation_sums s using seen
      where s.project_id = seen.project_id and s.conversation_id = seen.conversation_id
        and not exists (select from conversations c
          where c.project_id = s.project_id and c.id = s.conversation_id and c.deleted_at is null)
        and not exists (select from calls c where c.project_id = s.project_id
          and c.conversation_id = s.conversation_id and c.id > first_id_of(now() - interval '1 day'))
      returning 1)
    select project_id as "projectId", conversation_id as id, (select count(*)::int from seen) as seen,
      (select count(*)::int from erased) as erased
    from seen order by project_id desc, conversation_id desc limit 1`.execute(db)
  const [last] = rows
  if (!last) return { reached: undefined, erased: 0 }
  const { projectId, id, seen, erased } = last
  return { reached: seen < most ? undefined : { projectId, id }, erased }
}

async function countOf(db: Db, statement: ReturnType<typeof sql>): Promise<number> {
  const { numAffectedRows } = await statement.execute(db)
  return Number(numAffectedRows ?? 0n)
}
