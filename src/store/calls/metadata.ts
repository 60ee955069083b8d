import { sql, type RawBuilder } from 'kysely'
import { FIRST_UUID, LAST_UUID } from '../../platform/uuid.ts'
import { digestOfLong, type MetadataPair } from '../../rules/calls/metadata.ts'
import type { Db, Tx } from '../database.ts'

/** The metadata that publishers send along with a call. It is their content, and goes when the text of conversations does. */
export interface CallMetadata {
  projectId: string
  callId: string
  conversationId: string | undefined
  endUserId: string | undefined
  pairs: readonly MetadataPair[]
  /** The days for which the project keeps its text: at least 1. */
  retentionDays: number
  /** Sent again: the end user was there before. */
  hadEndUser?: boolean
}

/** Nothing of this call was stored: somebody else has its conversation or its end user locked, and may be erasing it. */
export interface LockedCall {
  callId: string
  /** The end user was there: is it gone when the call is sent again, it was erased. */
  hasEndUser: boolean
}

/**
 * Stores metadata, but does not bring back that of a conversation that has been deleted since, nor of an end user who is being
 * erased: their rows are locked, so that erasing happens before, and is seen, or after, and takes this with it. Waits for no
 * lock: a row that another transaction has locked keeps back its own calls, which are returned, to be sent again.
 */
export async function insertMetadata(db: Db, calls: readonly CallMetadata[]): Promise<LockedCall[]> {
  const pairs = calls.flatMap((call) =>
    call.pairs.map(({ key, value }) => ({
      project_id: call.projectId,
      call_id: call.callId,
      key,
      ...storedOf(value),
      conversation_id: call.conversationId,
      end_user_id: call.endUserId,
      had_end_user: call.hadEndUser ?? false,
      days: call.retentionDays,
    })),
  )
  // A conversation's row is updated by its calls as it is by deleting it: `for share` meets both. End users are noted by
  // updates, too, and erased by a delete: `for key share` meets only that one.
  const { rows } = await sql<LockedCall>`
    with sent as materialized (
      select * from json_to_recordset(${JSON.stringify(pairs)}) as s (project_id uuid, call_id uuid, key text, value text,
        long_value text, conversation_id text, end_user_id uuid, had_end_user boolean, days int)
    ), conversation as materialized (
      select project_id, id from conversations
      where (project_id, id) in (select project_id, conversation_id from sent)
    ), free_conversation as materialized (
      select project_id, id, deleted_at from conversations
      where (project_id, id) in (select project_id, conversation_id from sent) for share skip locked
    ), end_user as materialized (
      select project_id, id from end_users where (project_id, id) in (select project_id, end_user_id from sent)
    ), free_end_user as materialized (
      select project_id, id from end_users
      where (project_id, id) in (select project_id, end_user_id from sent) for key share skip locked
    ), judged as materialized (
      select s.*, u.id is not null as has_end_user,
        (c.id is not null and fc.id is null) or (u.id is not null and fu.id is null) as is_locked,
        fc.deleted_at is not null or (s.had_end_user and u.id is null) as is_erased
      from sent s
        left join conversation c on c.project_id = s.project_id and c.id = s.conversation_id
        left join free_conversation fc on fc.project_id = s.project_id and fc.id = s.conversation_id
        left join end_user u on u.project_id = s.project_id and u.id = s.end_user_id
        left join free_end_user fu on fu.project_id = s.project_id and fu.id = s.end_user_id
    ), stored as (
      insert into call_metadata (project_id, call_id, key, value, long_value, conversation_id, end_user_id, expires_at)
      select project_id, call_id, key, value, long_value, conversation_id, end_user_id, now() + days * interval '1 day'
      from judged where not is_locked and not is_erased
      on conflict do nothing
    )
    select distinct call_id as "callId", has_end_user or had_end_user as "hasEndUser"
    from judged where is_locked and not is_erased`.execute(db)
  return rows
}

/** A long value is indexed by its digest, and stands beside it. */
function storedOf(value: string): { value: string; long_value?: string } {
  const digest = digestOfLong(value)
  return digest === undefined ? { value } : { value: digest, long_value: value }
}

/**
 * The conditions that rows `t` with a value meet, one or the other, each of which an index can answer in the order of calls. A
 * short value may be the digest of a long one. Of the version before, long ones are stored as short ones are.
 */
export function conditionsOfValue(value: string): RawBuilder<unknown>[] {
  const isItself = sql`t.value = ${value} and t.long_value is null`
  const digest = digestOfLong(value)
  return digest === undefined ? [isItself] : [sql`t.value = ${digest} and t.long_value = ${value}`, isItself]
}

/** Returns the pairs of each of some calls of a project, ordered by key. Calls without any are not in the map. */
export async function findMetadata(
  db: Db,
  projectId: string,
  callIds: readonly string[],
): Promise<Map<string, MetadataPair[]>> {
  const { rows } = await sql<{ callId: string; key: string; value: string }>`
    select call_id as "callId", key, coalesce(long_value, value) as value from call_metadata
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
