import { sql } from 'kysely'
import { inTransaction, type Db } from '../database.ts'

/** People. Their tables belong to the sign-in library as well, which reads and writes them under the names in auth.ts. */

export interface NewAccount {
  userId: string
  credentialId: string
  publisherId: string
  name: string
  email: string
  passwordHash: string
  publisherName: string
  trialCredit: bigint
}

/** A person, the publisher that they own, and nothing in between. Returns false when the address is taken. */
export async function insertAccount(db: Db, account: NewAccount): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const { userId, publisherId, name, email } = account
    const user = await tx
      .insertInto('users')
      .values({ id: userId, name, email })
      .onConflict((conflict) => conflict.column('email').doNothing())
      .returning('id')
      .executeTakeFirst()
    if (!user) return false
    const password = { id: account.credentialId, account_id: userId, provider_id: 'credential' }
    await tx
      .insertInto('credentials')
      .values({ ...password, user_id: userId, password: account.passwordHash })
      .execute()
    await tx
      .insertInto('publishers')
      .values({
        id: publisherId,
        name: account.publisherName,
        email,
        confirmation_awaited_from: userId,
        trial_credit_nanos: account.trialCredit,
      })
      .execute()
    await tx.insertInto('memberships').values({ publisher_id: publisherId, user_id: userId, role: 'owner' }).execute()
    return true
  })
}

export async function findUserByEmail(db: Db, email: string) {
  return db
    .selectFrom('users')
    .select(['id', 'name', 'email', 'email_verified'])
    .where('email', '=', email)
    .executeTakeFirst()
}

/**
 * Activates the publisher that was made with the address that is confirmed now, unless the operator does that. Returns those that
 * are activated then.
 */
export async function confirmPublishers(tx: Db, userId: string, isActivating: boolean): Promise<string[]> {
  const { rows } = await sql<{ id: string; isActivated: boolean }>`
    update publishers set confirmation_awaited_from = null,
      activated_at = case when ${isActivating} then coalesce(activated_at, now()) else activated_at end
    where confirmation_awaited_from = ${userId}
    returning id, activated_at is not null as "isActivated"`.execute(tx)
  return rows.filter(({ isActivated }) => isActivated).map(({ id }) => id)
}

export async function listSessions(db: Db, userId: string) {
  return db
    .selectFrom('sessions')
    .select(['id', 'ip_address', 'user_agent', 'created_at', 'updated_at', 'expires_at'])
    .where('user_id', '=', userId)
    .where('expires_at', '>', sql<Date>`now()`)
    .orderBy('updated_at', 'desc')
    .limit(200)
    .execute()
}

/** Nobody else changes what is the person's own, or ends all their sessions, until the transaction ends. */
export async function lockUser(tx: Db, userId: string): Promise<void> {
  await tx.selectFrom('users').select('id').where('id', '=', userId).forNoKeyUpdate().execute()
}

export async function isSessionOpen(db: Db, userId: string, sessionId: string): Promise<boolean> {
  const session = await db
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', userId)
    .where('id', '=', sessionId)
    .executeTakeFirst()
  return session !== undefined
}

/** Ends one session of the user. Returns false when there is no such session. */
export async function deleteSession(db: Db, userId: string, sessionId: string): Promise<boolean> {
  const result = await db
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .where('id', '=', sessionId)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}

export async function deleteSessionOfToken(db: Db, token: string): Promise<void> {
  await db.deleteFrom('sessions').where('token', '=', token).execute()
}

/** Ends all sessions of the user, or all but one. */
export async function deleteSessions(db: Db, userId: string, exceptId?: string): Promise<void> {
  const query = db.deleteFrom('sessions').where('user_id', '=', userId)
  await (exceptId === undefined ? query : query.where('id', '<>', exceptId)).execute()
}

export async function setUserName(db: Db, userId: string, name: string): Promise<void> {
  await db
    .updateTable('users')
    .set({ name, updated_at: sql`now()` })
    .where('id', '=', userId)
    .execute()
}

/** Sessions, password, second factor and memberships go with the user; the audit log keeps the name. */
export async function deleteUser(db: Db, userId: string): Promise<void> {
  await db.deleteFrom('users').where('id', '=', userId).execute()
}

/** Sessions, or short-lived proofs, that have ended. Returns how many were deleted. */
export async function expireProofs(db: Db, table: 'sessions' | 'verifications', most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where id in (
      select id from ${sql.table(table)} where expires_at < now() limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
