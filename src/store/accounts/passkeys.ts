import { sql } from 'kysely'
import { uuidv7 } from '../../platform/uuid.ts'
import { textDigestOf } from '../../rules/text-digest.ts'
import type { Db } from '../database.ts'

export interface NewPasskey {
  userId: string
  name: string
  credentialId: string
  publicKey: Buffer
  counter: number
  transports: string[]
}

/** Returns false when the credential is known already. */
export async function insertPasskey(tx: Db, passkey: NewPasskey): Promise<boolean> {
  const result = await tx
    .insertInto('passkeys')
    .values({
      id: uuidv7(),
      user_id: passkey.userId,
      name: passkey.name,
      credential_id: passkey.credentialId,
      public_key: passkey.publicKey,
      counter: BigInt(passkey.counter),
      transports: passkey.transports,
    })
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .executeTakeFirst()
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n
}

export async function listPasskeys(db: Db, userId: string) {
  return db.selectFrom('passkeys').selectAll().where('user_id', '=', userId).orderBy('created_at').limit(100).execute()
}

export async function countPasskeys(db: Db, userId: string): Promise<number> {
  const rows = await db.selectFrom('passkeys').select('id').where('user_id', '=', userId).execute()
  return rows.length
}

export async function findPasskey(db: Db, credentialId: string) {
  return db.selectFrom('passkeys').selectAll().where('credential_id', '=', credentialId).executeTakeFirst()
}

/**
 * Counts a use. Returns false when the authenticator has counted less than before: then there is a copy of it somewhere,
 * and nobody knows which of the two this is.
 */
export async function countPasskeyUse(db: Db, id: string, counter: number): Promise<boolean> {
  const result = await db
    .updateTable('passkeys')
    .set({ counter: BigInt(counter), last_used_at: sql`now()` })
    .where('id', '=', id)
    .where(sql<boolean>`counter < ${counter} or (counter = 0 and ${counter} = 0)`)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Returns false when it is not one of the user's. */
export async function renamePasskey(db: Db, userId: string, id: string, name: string): Promise<boolean> {
  const result = await db
    .updateTable('passkeys')
    .set({ name })
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Returns false when it is not one of the user's. */
export async function deletePasskey(db: Db, userId: string, id: string): Promise<boolean> {
  const result = await db.deleteFrom('passkeys').where('user_id', '=', userId).where('id', '=', id).executeTakeFirst()
  return result.numDeletedRows > 0n
}

export async function deletePasskeys(db: Db, userId: string): Promise<void> {
  await db.deleteFrom('passkeys').where('user_id', '=', userId).execute()
}

/** Remembers what was given to be signed, and for what. Expired ones go with the other short-lived proofs. */
export async function insertChallenge(db: Db, challenge: string, purpose: string, goodForMs: number): Promise<void> {
  const expiresAt = new Date(Date.now() + goodForMs)
  await db
    .insertInto('verifications')
    .values({ id: uuidv7(), identifier: identifierOf(challenge), value: purpose, expires_at: expiresAt })
    .execute()
}

/** Returns true once for each challenge, in time and for its own purpose. */
export async function consumeChallenge(db: Db, challenge: string, purpose: string): Promise<boolean> {
  const row = await db
    .deleteFrom('verifications')
    .where('identifier', '=', identifierOf(challenge))
    .where('value', '=', purpose)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

function identifierOf(challenge: string): string {
  return `passkey:${textDigestOf(challenge).toString('base64url')}`
}
