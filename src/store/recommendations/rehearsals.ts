import { sql } from 'kysely'
import type { KeptMessage } from '../../rules/recommendations/rehearsal.ts'
import type { Db } from '../database.ts'

/** The reads of a rehearsal. It writes nothing. */

export interface KeptConversation {
  id: string
  /** As the store writes it: a date would lose its last digits, and the next page what they tell apart. */
  lastCallAt: string
  messages: KeptMessage[]
}

/** How many conversations had a call since then, as far as `most`. */
export async function countConversationsSince(tx: Db, projectId: string, since: Date, most: number): Promise<number> {
  const { rows } = await sql<{ found: number }>`
    select count(*)::int as found from (
      select from conversations where project_id = ${projectId} and deleted_at is null and last_call_at >= ${since}
      limit ${most}) c`.execute(tx)
  return rows[0]?.found ?? 0
}

export interface ConversationPage {
  since: Date
  /** Where the page before ended. */
  before?: Pick<KeptConversation, 'id' | 'lastCallAt'> | undefined
  conversationsMax: number
  /** For each conversation: its messages, and the bytes after which their text is left out. */
  messagesMax: number
  bytesMax: number
}

/** Lists the conversations with a call since then, newest first, each with its messages, oldest first. */
export async function listKeptConversations(
  tx: Db,
  projectId: string,
  { since, before, conversationsMax, messagesMax, bytesMax }: ConversationPage,
): Promise<KeptConversation[]> {
  const further = before ? sql`and (last_call_at, id) < (${before.lastCallAt}::timestamptz, ${before.id})` : sql``
  const { rows } = await sql<{ id: string; lastCallAt: string; messages: KeptRow[] | null }>`
    select c.id, c.last_call_at::text as "lastCallAt", m.messages
    from (
      select project_id, id, last_call_at from conversations
      where project_id = ${projectId} and deleted_at is null and last_call_at >= ${since} ${further}
      order by last_call_at desc, id desc limit ${conversationsMax}) c
      cross join lateral (
        select json_agg(json_build_array(t.role, case when t.bytes <= ${bytesMax} then t.content end,
          (extract(epoch from t.created_at) * 1000)::float8, t.bytes > ${bytesMax}) order by t.seq) as messages
        from (
          select role, content, created_at, seq, sum(length(content::text)) over (order by seq) as bytes
          from messages where project_id = c.project_id and conversation_id = c.id order by seq limit ${messagesMax}) t) m
    order by c.last_call_at desc, c.id desc`.execute(tx)
  return rows.map(({ id, lastCallAt, messages }) => ({ id, lastCallAt, messages: (messages ?? []).map(messageOf) }))
}

type KeptRow = [role: string, content: object | null, atMs: number, isBeyond: boolean | null]

function messageOf([role, content, atMs, isBeyond]: KeptRow): KeptMessage {
  return { role, content, at: new Date(atMs), isBeyond: isBeyond === true }
}

/** Returns the categories of those offers that still exist. */
export async function findCategories(tx: Db, offerIds: readonly string[]): Promise<Map<string, string>> {
  if (offerIds.length === 0) return new Map()
  const { rows } = await sql<{ id: string; category: string }>`
    select id, category from offers where id = any (${offerIds}::uuid[])`.execute(tx)
  return new Map(rows.map(({ id, category }) => [id, category]))
}

/** Returns the share of a click's price, in hundredths of a percent. A project has no row before its first click. */
export async function findShareBps(tx: Db, projectId: string, usualBps: number): Promise<number> {
  const { rows } = await sql<{ share: number }>`
    select share_bps as share from earnings where project_id = ${projectId}`.execute(tx)
  return rows[0]?.share ?? usualBps
}
