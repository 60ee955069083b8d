import { sql } from 'kysely'
import type { Db } from '../database.ts'

export interface NewSandbox {
  id: string
  publisherId: string
  name: string
  domain: string
  verificationToken: string
  requestsPerMinute: number
  concurrentCalls: number
  dayNanos: bigint
  /** The claims that its trial credit uses up; null: there is no receiver for any credit. */
  trialClaims: string[] | null
}

/** Returns false when nothing was made: the publisher is not activated, or has or had one. */
export async function insertSandbox(tx: Db, sandbox: NewSandbox): Promise<boolean> {
  const { id, publisherId, name, domain, trialClaims } = sandbox
  const wanted = {
    id,
    name,
    domain,
    token: sandbox.verificationToken,
    requests_per_minute: sandbox.requestsPerMinute,
    concurrent_calls: sandbox.concurrentCalls,
    day_nanos: sandbox.dayNanos.toString(),
  }
  const { rows } = await sql<{ made: boolean }>`
    select create_sandbox(${publisherId}, ${JSON.stringify(wanted)}::json, ${trialClaims}) as made`.execute(tx)
  return rows[0]?.made ?? false
}

/** Also of one that was deleted. */
export async function isSandbox(db: Db, projectId: string): Promise<boolean> {
  const row = await db.selectFrom('projects').select('is_sandbox').where('id', '=', projectId).executeTakeFirst()
  return row?.is_sandbox ?? false
}

/** Whether the publisher has a project that is no sandbox. */
export async function hasOwnProject(db: Db, publisherId: string): Promise<boolean> {
  const row = await db
    .selectFrom('projects')
    .select('id')
    .where('publisher_id', '=', publisherId)
    .where('is_sandbox', '=', false)
    .where('archived_at', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
