import { sql } from 'kysely'
import type { Db } from './database.ts'

export interface Claim {
  projectId: string
  keyDigest: Buffer
  bodyDigest: Buffer
  callId: string
  gatewayId: string
  conversationId: string | undefined
}

export interface ClaimAnswer {
  /** claimed: go on; replay: answer from `result`; running: the first call has not ended; mismatch: another body. */
  state: 'claimed' | 'replay' | 'running' | 'mismatch'
  result: string | null
  /** The call that the key belongs to. */
  callId: string
}

export async function claimKey(db: Db, claim: Claim, leaseMs: number, keptMs: number): Promise<ClaimAnswer> {
  const { rows } = await sql<{ state: ClaimAnswer['state']; result: string | null; call_id: string }>`
    select (a).state, (a).result, (a).call_id from idempotency_claim(${claim.projectId}, ${claim.keyDigest},
      ${claim.bodyDigest}, ${claim.callId}, ${claim.gatewayId}, ${claim.conversationId ?? null},
      ${leaseMs} * interval '1 ms', ${keptMs} * interval '1 ms') a`.execute(db)
  const answer = rows[0]
  if (!answer) throw new Error('no answer to a claim')
  return { state: answer.state, result: answer.result, callId: answer.call_id }
}

/** For a call that ended before it held credit; afterwards its settle does this. */
export async function giveUpKey(db: Db, callId: string): Promise<void> {
  await db.deleteFrom('idempotency_keys').where('call_id', '=', callId).where('result', 'is', null).execute()
}

/** Claims of this gateway that none of its running calls has: giving them up was prevented by an outage. */
export async function giveUpOrphanedKeys(
  db: Db,
  gatewayId: string,
  running: readonly string[],
  olderThanMs: number,
): Promise<void> {
  await sql`
    delete from idempotency_keys k where k.gateway_id = ${gatewayId} and k.result is null
      and k.created_at < now() - ${olderThanMs} * interval '1 ms' and k.call_id <> all (${running}::uuid[])
      and not exists (select 1 from holds h where h.id = k.call_id)`.execute(db)
}

/** Returns how many were forgotten. */
export async function expireKeys(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from idempotency_keys where (project_id, key_digest) in (
      select project_id, key_digest from idempotency_keys
      where created_at < now() - ${keptMs} * interval '1 ms' limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
