import { sql } from 'kysely'
import type { SeenMessage } from '../../rules/calls/conversations.ts'
import type { Opening } from '../../rules/calls/openings.ts'
import { inTransaction, type Db } from '../database.ts'
import { deleteMetadataOfConversation } from './metadata.ts'

export interface ConversationKey {
  projectId: string
  id: string
}

export interface KnownConversation {
  isDeleted: boolean
  /** Undefined: nothing was recorded of it yet. */
  opening: Opening | undefined
}

/** Returns what is known of these conversations, in the order asked. */
export async function findConversations(db: Db, keys: readonly ConversationKey[]): Promise<KnownConversation[]> {
  const { rows } = await sql<{ deleted: boolean; messages: number | null; digest: Buffer | null }>`
    select c.deleted_at is not null as deleted, c.opening_messages as messages, c.opening_digest as digest
    from unnest(${keys.map((key) => key.projectId)}::uuid[], ${keys.map((key) => key.id)}::text[])
      with ordinality as k (project_id, id, n)
      left join conversations c on c.project_id = k.project_id and c.id = k.id
    order by k.n`.execute(db)
  return rows.map(({ deleted, messages, digest }) => ({
    isDeleted: deleted,
    opening: messages === null || digest === null ? undefined : { messages, digest },
  }))
}

export interface Turn {
  conversation: ConversationKey
  callId: string
  /** The request's messages and the reply. */
  messages: readonly SeenMessage[]
  /** 0: the text is not kept. */
  retentionDays: number
  /** Undefined: the call begins as those before. */
  opening?: Opening | undefined
}

/** The rough size of a message's row without its text: its places in the indexes and the digests of its words. */
export const BYTES_PER_MESSAGE = 600

/**
 * Adds one call to its conversation: only messages not seen before. The text of a conversation that was deleted
 * meanwhile is not brought back. Returns how many bytes were added.
 */
export async function recordTurn(db: Db, turn: Turn): Promise<number> {
  const { projectId, id } = turn.conversation
  const { messages: openingMessages = null, digest: openingDigest = null } = turn.opening ?? {}
  const keepsText = turn.retentionDays > 0
  const { rows } = await sql<{ bytes: number }>`
    with conversation as (
      insert into conversations as c (project_id, id, calls, opening_messages, opening_digest)
      values (${projectId}, ${id}, 1, ${openingMessages}, ${openingDigest})
      on conflict (project_id, id) do update set calls = c.calls + 1, last_call_at = now(),
        opening_messages = coalesce(excluded.opening_messages, c.opening_messages),
        opening_digest = coalesce(excluded.opening_digest, c.opening_digest)
      where c.deleted_at is null
      returning c.id
    ), sent as materialized (
      select decode(m.digest, 'hex') as digest, m.occurrence, m.role, m.content
      from conversation, json_to_recordset(${jsonOf(turn.messages, keepsText)})
        as m (digest text, occurrence int, role text, content json)
    ), added as (
      insert into messages (project_id, conversation_id, digest, occurrence, role, content, call_id, content_expires_at)
      select ${projectId}, ${id}, digest, occurrence, role, content, ${turn.callId},
        case when ${keepsText} then now() + ${turn.retentionDays} * interval '1 day' end
      from sent
      on conflict do nothing
      returning digest, occurrence
    )
    select coalesce(sum(${BYTES_PER_MESSAGE} + coalesce(octet_length(content::text), 0)), 0)::float8 as bytes
    from added join sent using (digest, occurrence)`.execute(db)
  return rows[0]?.bytes ?? 0
}

/** Put together by hand: a text of megabytes is written as JSON once, and not read again. */
function jsonOf(messages: readonly SeenMessage[], keepsText: boolean): string {
  const written = messages.map(({ digest, occurrence, message: { role, ...content } }) => {
    const head = JSON.stringify({ digest: digest.toString('hex'), occurrence, role }).slice(0, -1)
    return `${head},"content":${keepsText ? withoutNul(JSON.stringify(content)) : null}}`
  })
  return `[${written.join(',')}]`
}

/** PostgreSQL cannot store NUL, and a model's reply may contain one. */
function withoutNul(json: string): string {
  return json.replaceAll('\\u0000', '\\ufffd')
}

/**
 * Erases the text, stored answers to repeated requests and metadata of its calls included, and remembers the id. Returns false
 * when there is nothing to delete.
 */
export async function deleteConversation(db: Db, key: ConversationKey): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const result = await tx
      .updateTable('conversations')
      .set({ deleted_at: new Date(), calls: 0, opening_messages: null, opening_digest: null })
      .where('project_id', '=', key.projectId)
      .where('id', '=', key.id)
      .where('deleted_at', 'is', null)
      .executeTakeFirst()
    if (result.numUpdatedRows === 0n) return false
    await tx
      .deleteFrom('idempotency_keys')
      .where('project_id', '=', key.projectId)
      .where('conversation_id', '=', key.id)
      .execute()
    await tx
      .deleteFrom('messages')
      .where('project_id', '=', key.projectId)
      .where('conversation_id', '=', key.id)
      .execute()
    await tx
      .deleteFrom('conversation_sums')
      .where('project_id', '=', key.projectId)
      .where('conversation_id', '=', key.id)
      .execute()
    await deleteMetadataOfConversation(tx, key)
    return true
  })
}

export async function listConversations(db: Db, projectId: string, most: number) {
  return db
    .selectFrom('conversations')
    .select(['id', 'calls', 'created_at', 'last_call_at'])
    .where('project_id', '=', projectId)
    .where('deleted_at', 'is', null)
    .orderBy('last_call_at', 'desc')
    .limit(most)
    .execute()
}

export async function listMessages(db: Db, key: ConversationKey, most: number) {
  return db
    .selectFrom('messages')
    .select(['seq', 'role', 'content', 'call_id', 'created_at', 'content_expires_at'])
    .where('project_id', '=', key.projectId)
    .where('conversation_id', '=', key.id)
    .orderBy('seq')
    .limit(most)
    .execute()
}

/** Erases text whose retention has passed; the digests stay, so that an old message is not taken for a new one. */
export async function expireContent(db: Db, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    update messages set content = null where (project_id, conversation_id, digest, occurrence) in (
      select project_id, conversation_id, digest, occurrence from messages
      where content is not null and content_expires_at < now() limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
