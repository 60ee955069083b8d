import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { deletePasskeys } from './passkeys.ts'
import { deleteSessions, lockUser } from './users.ts'

/** The keys to an account: its password, its second factors, and sign-ins that are under way. */

export interface Account {
  id: string
  name: string
  email: string
  emailVerified: boolean
  passwordHash: string
}

export async function findAccount(db: Db, by: { id: string } | { email: string }): Promise<Account | undefined> {
  const query = db
    .selectFrom('users as u')
    .innerJoin('credentials as c', 'c.user_id', 'u.id')
    .select(['u.id', 'u.name', 'u.email', 'u.email_verified as emailVerified', 'c.password as passwordHash'])
    .where('c.provider_id', '=', 'credential')
    .$narrowType<{ passwordHash: string }>()
  return ('id' in by ? query.where('u.id', '=', by.id) : query.where('u.email', '=', by.email)).executeTakeFirst()
}

/** Waits for whoever is replacing it. */
export async function isStillPassword(db: Db, { id, passwordHash }: Account): Promise<boolean> {
  const row = await db
    .selectFrom('credentials')
    .select('password')
    .where('user_id', '=', id)
    .where('provider_id', '=', 'credential')
    .forShare()
    .executeTakeFirst()
  return row?.password === passwordHash
}

/**
 * Also ends every session and every sign-in that waits for its second step. In this order: a sign-in that began with the
 * old password either has its session ended here, or finds that the password is another one. Returns false when somebody
 * else has replaced the password meanwhile.
 */
export async function replacePassword(tx: Db, { id, passwordHash }: Account, newHash: string): Promise<boolean> {
  await lockUser(tx, id)
  const result = await tx
    .updateTable('credentials')
    .set({ password: newHash, updated_at: sql`now()` })
    .where('user_id', '=', id)
    .where('provider_id', '=', 'credential')
    .where('password', '=', passwordHash)
    .executeTakeFirst()
  await signOutEverywhere(tx, id)
  return result.numUpdatedRows > 0n
}

export async function signOutEverywhere(tx: Db, userId: string): Promise<void> {
  await lockUser(tx, userId)
  await endPendingSteps(tx, userId)
  await deleteSessions(tx, userId)
}

export async function endPendingSteps(db: Db, userId: string): Promise<void> {
  await db.deleteFrom('verifications').where('value', '=', userId).execute()
}

/** Returns false when it was confirmed already. Of many at once, one is the first. */
export async function confirmAddress(tx: Db, userId: string): Promise<boolean> {
  const result = await tx
    .updateTable('users')
    .set({ email_verified: true, updated_at: sql`now()` })
    .where('id', '=', userId)
    .where('email_verified', '=', false)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

export async function removeSecondFactor(tx: Db, userId: string): Promise<void> {
  await tx.deleteFrom('two_factors').where('user_id', '=', userId).execute()
  await tx.updateTable('users').set({ two_factor_enabled: false }).where('id', '=', userId).execute()
}

/** Returns false when the session has ended meanwhile. */
export async function markProven(db: Db, sessionId: string): Promise<boolean> {
  const result = await db
    .updateTable('sessions')
    .set({ proven_at: sql`now()` })
    .where('id', '=', sessionId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/**
 * For an account that its maker never confirmed, when the owner of the address takes it over: whatever would let the maker
 * in again, or act on. Key pairs can be among it where an operator has activated the publisher: returns how many were.
 */
export async function removeTracesOfMaker(tx: Db, userId: string): Promise<number> {
  await removeSecondFactor(tx, userId)
  await deletePasskeys(tx, userId)
  const result = await tx
    .updateTable('key_pairs')
    .set({ active: false, deleted_at: sql`now()` })
    .where('created_by', '=', userId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return Number(result.numUpdatedRows)
}
