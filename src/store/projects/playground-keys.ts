import { sql } from 'kysely'
import type { Db } from '../database.ts'
import type { NewKeyPair } from './keys.ts'

/** The key pair that a project's playground calls with: one row for each project, made anew in place. */

export interface PlaygroundKey {
  id: string
  publishable_key: string
  secret_version: number
  expires_at: Date | null
}

/** Two that begin at once make one pair between them: nobody else looks until the transaction ends. */
export async function lockPlaygroundKey(tx: Db, projectId: string): Promise<PlaygroundKey | undefined> {
  await sql`select pg_advisory_xact_lock(hashtext('playground'), hashtext(${projectId}))`.execute(tx)
  return tx
    .selectFrom('key_pairs')
    .select(['id', 'publishable_key', 'secret_version', 'expires_at'])
    .where('project_id', '=', projectId)
    .where('purpose', '=', 'playground')
    .executeTakeFirst()
}

/** Leaves alone whether it is active: an operator who has switched it off meant it. */
export async function upsertPlaygroundKey(tx: Db, pair: NewKeyPair): Promise<void> {
  const renewed = {
    publishable_key: pair.publishableKey,
    secret_digest: pair.secretDigest,
    secret_version: pair.secretVersion,
    secret_last4: pair.secretLast4,
    expires_at: pair.expiresAt ?? null,
  }
  await tx
    .insertInto('key_pairs')
    .values({ id: pair.id, project_id: pair.projectId, name: pair.name, purpose: 'playground', ...renewed })
    .onConflict((conflict) => conflict.column('project_id').where('purpose', '=', 'playground').doUpdateSet(renewed))
    .execute()
}
