import { sql, type RawBuilder } from 'kysely'
import { FIRST_UUID, LAST_UUID } from '../../platform/uuid.ts'
import type { MetadataPair } from '../../rules/calls/metadata.ts'
import type { Db, Tx } from '../database.ts'

/** What publishers send along with their calls. It is content of theirs, and goes when the text of conversations does. */
export interface CallMetadata {
  projectId: string
  callId: string
  conversationId: string | undefined
  endUserId: string | undefined
  pairs: readonly MetadataPair[]
  /** Of the project, for its text: at least 1. */
  retentionDays: number
}

/**
 * What belongs to a conversation that was deleted meanwhile is not brought back: its row is locked, so that deleting it
 * happens before, and is seen, or after, and takes this with it.
 */
export async function insertMetadata(db: Db, calls: readonly CallMetadata[]): Promise<void> {
  const rows = calls.flatMap(({ pairs, ...call }) =>
    pairs.map(({ key, value }) => ({
      project_id: call.projectId,
      call_id: call.callId,
      key,
      value,
      conversation_id: call.conversationId,
      end_user_id: call.endUserId,
      days: call.retentionDays,
    })),
  )
  await sql`
    with sent as (
      select * from json_to_recordset(${JSON.stringify(rows)}) as s (project_id uuid, call_id uuid, key text, value text,
        conversation_id text, end_user_id uuid, days int)
    ), conversation as materialized (
      select c.project_id, c.id, c.deleted_at from conversations c
      where (c.project_id, c.id) in (select project_id, conversation_id from sent) for share
    )
    insert into call_metadata (project_id, call_id, key, value, conversation_id, end_user_id, expires_at)
    select s.project_id, s.call_id, s.key, s.value, s.conversation_id, s.end_user_id, now() + s.days * interval '1 day'
    from sent s left join conversation c on c.project_id = s.project_id and c.id = s.conversation_id
    where c.deleted_at is null
    on conflict do nothing`.execute(db)
}

/** Of some calls of a project, each with its pairs by key. Those without any are not in it. */
export async function findMetadata(
  db: Db,
  projectId: string,
  callIds: readonly string[],
): Promise<Map<string, MetadataPair[]>> {
  const { rows } = await sql<{ callId: string; key: string; value: string }>`
    select call_id as "callId", key, value from call_metadata
    where project_id = ${projectId} and call_id = any (${callIds}::uuid[]) order by call_id, key`.execute(db)
  const byCall = Map.groupBy(rows, ({ callId }) => callId)
  return new Map([...byCall].map(([id, pairs]) => [id, pairs.map(({ key, value }) => ({ key, value }))]))
}

/** A conversation or an end user. */
interface Owner {
  projectId: string
  id: string
}

/** Returns whether there was any. */
export function deleteMetadataOfConversation(tx: Tx, { projectId, id }: Owner): Promise<boolean> {
  return deleteInSteps(tx, projectId, sql`conversation_id = ${id}`)
}

/** Returns whether there was any. */
export function deleteMetadataOfEndUser(tx: Tx, { projectId, id }: Owner): Promise<boolean> {
  return deleteInSteps(tx, projectId, sql`end_user_id = ${id}`)
}

const DELETED_AT_ONCE = 10_000

/** All calls of a busy app may name the same end user: one statement for millions of rows would take longer than it may. */
async function deleteInSteps(tx: Tx, projectId: string, condition: RawBuilder<unknown>): Promise<boolean> {
  let hasFound = false
  for (let from: string | undefined = FIRST_UUID; from !== undefined;) {
    const rest: RawBuilder<unknown> = sql`project_id = ${projectId} and ${condition} and call_id >= ${from}::uuid`
    const { rows }: { rows: { id: string }[] } = await sql<{ id: string }>`
      select call_id as id from call_metadata where ${rest} order by call_id offset ${DELETED_AT_ONCE} limit 1`.execute(
      tx,
    )
    const upTo = rows[0]?.id
    const { numAffectedRows } = await sql`
      delete from call_metadata where ${rest} and call_id < coalesce(${upTo}::uuid, ${LAST_UUID})`.execute(tx)
    hasFound ||= (numAffectedRows ?? 0n) > 0n
    from = upTo
  }
  return hasFound
}

/** Erases what was promised to be gone by now. Returns how many. */
export async function expireMetadata(db: Db, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from call_metadata where (project_id, call_id, key) in (
      select project_id, call_id, key from call_metadata where expires_at < now() limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/** Erases what is older than its project wants by now: it has chosen a shorter retention, or was deleted. Returns how many. */
export async function cutMetadata(db: Db, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from call_metadata where (project_id, call_id, key) in (
      select m.project_id, m.call_id, m.key from projects p cross join lateral (
        select m.project_id, m.call_id, m.key from call_metadata m
        where m.project_id = p.id and m.call_id < first_id_of(now() - p.content_retention_days * interval '1 day')
        limit ${most}) m
      limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
