import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { insertKeyPair, LISTED_MAX, type NewKeyPair } from './keys.ts'

/**
 * Key pairs as their publishers see and manage them. Deleted ones are not among them, and neither are the
 * playground's, except where `isPlaygroundToo` says so.
 */

export interface KeyPairRow {
  id: string
  name: string
  publishable_key: string
  secret_last4: string
  active: boolean
  expires_at: Date | null
  last_used_at: Date | null
  replaced_by: string | null
  /** The pair whose limits hold for it, when not its own: the first pair of a line that was rolled. */
  counted_as: string | null
  created_at: Date
}

const COLUMNS = [
  'id',
  'name',
  'publishable_key',
  'secret_last4',
  'active',
  'expires_at',
  'last_used_at',
  'replaced_by',
  'counted_as',
  'created_at',
] as const

/** Newest first, with who made each (if still a member) and what was spent with it since a day. */
export async function listManagedKeyPairs(tx: Db, projectId: string, spentSince: Date) {
  const spent = tx
    .selectFrom('usage_days')
    .select(({ ref }) => ['key_pair_id', sql<bigint>`sum(${ref('charged_nanos')})::int8`.as('spent_nanos')])
    .where('project_id', '=', projectId)
    .where('starts_at', '>=', spentSince)
    .groupBy('key_pair_id')
    .as('s')
  return tx
    .selectFrom('key_pairs as k')
    .leftJoin('members as m', 'm.user_id', 'k.created_by')
    .leftJoin(spent, 's.key_pair_id', 'k.id')
    .select([...COLUMNS.map((column) => `k.${column}` as const), 'm.name as created_by', 's.spent_nanos'])
    .where('k.project_id', '=', projectId)
    .where('k.deleted_at', 'is', null)
    .where('k.purpose', '=', 'calls')
    .orderBy('k.created_at', 'desc')
    .orderBy('k.id', 'desc')
    .limit(LISTED_MAX)
    .execute()
}

export async function countKeyPairs(tx: Db, projectId: string): Promise<number> {
  const { pairs } = await tx
    .selectFrom('key_pairs')
    .select(({ fn }) => fn.countAll<bigint>().as('pairs'))
    .where('project_id', '=', projectId)
    .where('deleted_at', 'is', null)
    .where('purpose', '=', 'calls')
    .executeTakeFirstOrThrow()
  return Number(pairs)
}

/** Nobody else changes it until the transaction ends. */
export async function lockKeyPair(
  tx: Db,
  projectId: string,
  id: string,
  { isPlaygroundToo = false } = {},
): Promise<KeyPairRow | undefined> {
  const query = tx
    .selectFrom('key_pairs')
    .select(COLUMNS)
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .forUpdate()
  return (isPlaygroundToo ? query : query.where('purpose', '=', 'calls')).executeTakeFirst()
}

/**
 * A new pair takes the place of `old`, which works on for `overlapSeconds`, or until its own end if that comes earlier.
 * The store's clock decides, as it does for every call. Returns when the old pair ends.
 */
export async function rollKeyPair(tx: Db, old: string, pair: NewKeyPair, overlapSeconds: number): Promise<Date> {
  await insertKeyPair(tx, pair)
  const { expires_at: endsAt } = await tx
    .updateTable('key_pairs')
    .set({
      replaced_by: pair.id,
      expires_at: sql<Date>`least(expires_at, clock_timestamp() + ${overlapSeconds} * interval '1 second')`,
    })
    .where('project_id', '=', pair.projectId)
    .where('id', '=', old)
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return endsAt ?? new Date(0)
}

export async function endKeyPair(tx: Db, projectId: string, id: string): Promise<void> {
  await tx
    .updateTable('key_pairs')
    .set({ expires_at: sql`least(expires_at, clock_timestamp())` })
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .execute()
}

export async function switchKeyPair(tx: Db, projectId: string, id: string, active: boolean): Promise<void> {
  await tx.updateTable('key_pairs').set({ active }).where('project_id', '=', projectId).where('id', '=', id).execute()
}

/** It is refused from now on like one that never was. The row stays: calls name it. */
export async function deleteKeyPair(tx: Db, projectId: string, id: string): Promise<void> {
  await tx
    .updateTable('key_pairs')
    .set({ active: false, deleted_at: sql`now()` })
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .execute()
}
