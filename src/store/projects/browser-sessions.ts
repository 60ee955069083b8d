import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { keyRecordOf, selectKeyRecords, type KeyRecord } from './keys.ts'

/** Short-lived secrets for browsers, as the gateway makes and meets them. The console's sessions of people are another matter. */

/** A session, and the pair that it belongs to. */
export interface SessionRecord extends KeyRecord {
  session: {
    id: string
    digest: Buffer
    endUserId: string | null
    /** Null: all that the project may use. */
    models: readonly string[] | null
    maxTokens: number | null
    origins: readonly string[] | null
    expiresAt: Date
    /** The tag of the network that asked for it, under the salt of that day. */
    networkTag: Buffer | null
  }
}

export async function findSessionRecords(db: Db, digests: readonly Buffer[]): Promise<SessionRecord[]> {
  const rows = await selectKeyRecords(db)
    .innerJoin('browser_sessions as s', 's.key_pair_id', 'k.id')
    .select([
      's.id',
      's.secret_digest as digest',
      's.end_user_id as endUserId',
      's.models',
      's.max_tokens as maxTokens',
      's.origins',
      's.expires_at as sessionExpiresAt',
      's.network_tag as networkTag',
    ])
    .where('s.secret_digest', 'in', digests)
    .execute()
  return rows.map(
    ({ id, digest, endUserId, models, maxTokens, origins, sessionExpiresAt: expiresAt, networkTag, ...pair }) => {
      const session = { id, digest, endUserId, models, maxTokens, origins, expiresAt, networkTag }
      return Object.assign(keyRecordOf(pair), { session })
    },
  )
}

/** By publishable key: a secret that its sessions need and `versions` does not have, where one that is not over does. */
export async function findLackedVersions(
  db: Db,
  publishableKeys: readonly string[],
  versions: readonly number[],
): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('browser_sessions as s')
    .innerJoin('key_pairs as k', 'k.id', 's.key_pair_id')
    .select(['k.publishable_key', 's.secret_version'])
    .distinct()
    .where('k.publishable_key', 'in', publishableKeys)
    .where('s.expires_at', '>', sql<Date>`now()`)
    .where('s.secret_version', 'not in', versions)
    .execute()
  return new Map(rows.map(({ publishable_key, secret_version }) => [publishable_key, secret_version]))
}

export interface NewSession {
  id: string
  projectId: string
  keyPairId: string
  secretDigest: Buffer
  secretVersion: number
  secretLast4: string
  endUserId: string | undefined
  models: readonly string[] | undefined
  maxTokens: number | undefined
  origins: readonly string[] | undefined
  networkTag: Buffer | undefined
  calls: number
  money: bigint
  seconds: number
}

export type Begun = { endsAt: Date } | { refusal: string }

/** In one statement, durable when it resolves. The store's clock says when it ends, as it does for every call. */
export async function beginSession(db: Db, session: NewSession, aliveMax: number): Promise<Begun> {
  const asked = {
    id: session.id,
    project_id: session.projectId,
    key_pair_id: session.keyPairId,
    secret_digest: `\\x${session.secretDigest.toString('hex')}`,
    secret_version: session.secretVersion,
    secret_last4: session.secretLast4,
    end_user_id: session.endUserId,
    models: session.models,
    max_tokens: session.maxTokens,
    origins: session.origins,
    calls_max: session.calls,
    money_nanos: session.money.toString(),
    seconds: session.seconds,
    network_tag: session.networkTag && `\\x${session.networkTag.toString('hex')}`,
  }
  const { rows } = await sql<{ ends_at: Date | null; refusal: string | null }>`
    select * from browser_session_begin(${JSON.stringify(asked)}::json, ${aliveMax}::int)`.execute(db)
  const { ends_at: endsAt = null, refusal = null } = rows[0] ?? {}
  return endsAt === null ? { refusal: refusal ?? 'internal' } : { endsAt }
}

/** Every project with sessions that ended so long ago. */
export async function listProjectsOfEndedSessions(db: Db, keptMs: number): Promise<string[]> {
  const rows = await db
    .selectFrom('browser_sessions')
    .select('project_id')
    .distinct()
    .where('expires_at', '<', sql<Date>`now() - ${keptMs} * interval '1 ms'`)
    .execute()
  return rows.map(({ project_id }) => project_id)
}

/** With their budgets. Returns how many, and undefined while the wallet is locked: there may be any number of them. */
export async function forgetSessions(
  db: Db,
  projectId: string,
  keptMs: number,
  most: number,
): Promise<number | undefined> {
  const { rows } = await sql<{ forgotten: number | null }>`
    select browser_sessions_forget(${projectId}::uuid, ${keptMs} * interval '1 ms', ${most}::int) as forgotten`.execute(
    db,
  )
  return rows[0]?.forgotten ?? undefined
}
