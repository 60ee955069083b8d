import { sql, type RawBuilder } from 'kysely'
import type { CallOutcome } from '../../rules/billing/charging.ts'
import type { ConversationKey } from './conversations.ts'
import type { Db } from '../database.ts'

/** Conversations as people look at them: a list by last activity, and one of them message by message. */
export interface ConversationRow {
  id: string
  createdAt: Date
  lastCallAt: Date
  /** Microseconds since 1970, to go on exactly there. */
  lastCallUs: bigint
  calls: number
  /** The beginning of what the user said first; null when no text is kept. */
  opening: string | null
  /** At most MESSAGES_COUNTED and one. */
  messages: bigint
  inputTokens: bigint | null
  outputTokens: bigint | null
  charged: bigint | null
  /** Paid clicks on its recommendations, and what they earned. */
  clicks: number
  earned: bigint
}

export const MESSAGES_COUNTED = 1_000
const OPENING_LENGTH = 300
/** Instructions come before what the user says; in odd requests, some more. */
const OPENING_WITHIN = 5
/** Part of an id is looked for among this many of the newest. A whole id is found whatever its age. */
const SEARCHED_MAX = 5_000

export interface ConversationPlace {
  lastCallUs: bigint
  id: string
}

export async function listLatestConversations(
  db: Db,
  projectId: string,
  options: { search?: string | undefined; after?: ConversationPlace | undefined; most: number },
): Promise<ConversationRow[]> {
  const { search, after, most } = options
  const from = search === undefined ? latest(projectId, after, most) : matching(projectId, search, most)
  const { rows } = await describe(from).execute(db)
  return rows
}

export async function findConversation(
  db: Db,
  { projectId, id }: ConversationKey,
): Promise<ConversationRow | undefined> {
  const { rows } = await describe(
    sql`select * from conversations where project_id = ${projectId} and id = ${id} and deleted_at is null`,
  ).execute(db)
  return rows[0]
}

function latest(projectId: string, after: ConversationPlace | undefined, most: number): RawBuilder<unknown> {
  const at = sql`(timestamptz 'epoch' + ${after?.lastCallUs ?? 0n}::int8 * interval '1 microsecond')`
  const before = after ? sql`and last_call_at <= ${at} and (last_call_at, id) < (${at}, ${after.id})` : sql``
  return sql`select * from conversations where project_id = ${projectId} and deleted_at is null ${before}
    order by last_call_at desc, id desc limit ${most}`
}

function matching(projectId: string, search: string, most: number): RawBuilder<unknown> {
  return sql`select * from (
      (select * from conversations where project_id = ${projectId} and id = ${search} and deleted_at is null)
      union
      (select * from (${latest(projectId, undefined, SEARCHED_MAX)}) newest where strpos(lower(newest.id), lower(${search})) > 0)
    ) found order by last_call_at desc, id desc limit ${most}`
}

/** Each lateral reads a bounded number of rows of one index, however long the conversation. */
function describe(from: RawBuilder<unknown>) {
  const mine = sql`m.project_id = c.project_id and m.conversation_id = c.id`
  return sql<ConversationRow>`
    select c.id, c.created_at as "createdAt", c.last_call_at as "lastCallAt",
      (extract(epoch from c.last_call_at) * 1000000)::int8 as "lastCallUs", c.calls, first.opening, counted.messages,
      -- A click may be counted before the call that it belongs to.
      case when s.calls > 0 then s.input_tokens end as "inputTokens",
      case when s.calls > 0 then s.output_tokens end as "outputTokens",
      case when s.calls > 0 then s.charged_nanos end as charged,
      coalesce(s.clicks, 0) as clicks, coalesce(s.earned_nanos, 0)::int8 as earned
    from (${from}) c
      left join conversation_sums s on s.project_id = c.project_id and s.conversation_id = c.id
      left join lateral (
        select case json_typeof(b.content -> 'content')
          when 'string' then left(b.content ->> 'content', ${OPENING_LENGTH})
          when 'array' then (select left(p ->> 'text', ${OPENING_LENGTH}) from json_array_elements(b.content -> 'content') p
            where p ->> 'type' = 'text' limit 1) end as opening
        from (select m.role, m.content from messages m where ${mine} order by m.seq limit ${OPENING_WITHIN}) b
        where b.role = 'user' limit 1) first on true
      left join lateral (select count(*) as messages from (
        select from messages m where ${mine} limit ${MESSAGES_COUNTED + 1}) b) counted on true
    order by c.last_call_at desc, c.id desc`
}

export interface MessageRow {
  seq: bigint
  role: string
  content: unknown
  callId: string
  createdAt: Date
  expiresAt: Date | null
}

export async function listMessagesAfter(
  db: Db,
  { projectId, id }: ConversationKey,
  after: bigint,
  most: number,
): Promise<MessageRow[]> {
  return db
    .selectFrom('messages')
    .select(['seq', 'role', 'content', 'call_id as callId'])
    .select(['created_at as createdAt', 'content_expires_at as expiresAt'])
    .where('project_id', '=', projectId)
    .where('conversation_id', '=', id)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(most)
    .execute()
}

export interface CallOfMessage {
  id: string
  /** Null: see `endpointOf`. */
  endpoint: string | null
  model: string
  outcome: CallOutcome
  durationMs: number
  firstTokenMs: number | null
  inputTokens: number
  outputTokens: number
  charged: bigint
}

/** Returns the calls that brought these messages, with their charges. A call that still runs is not among them. */
export async function listCallsOfMessages(
  db: Db,
  projectId: string,
  callIds: readonly string[],
): Promise<Map<string, CallOfMessage>> {
  if (callIds.length === 0) return new Map()
  const { rows } = await sql<CallOfMessage>`
    select c.id, c.endpoint, c.model_id as model, c.outcome, c.duration_ms as "durationMs", c.first_token_ms as "firstTokenMs",
      m.input_tokens + m.cached_input_tokens + m.cache_write_tokens as "inputTokens",
      m.output_tokens + m.reasoning_tokens as "outputTokens", m.charged_nanos as charged
    from calls c join charges m on m.id = c.id and m.project_id = c.project_id
    where c.project_id = ${projectId} and c.id = any (${callIds}::uuid[]) and m.id = any (${callIds}::uuid[])`.execute(
    db,
  )
  return new Map(rows.map((row) => [row.id, row]))
}
