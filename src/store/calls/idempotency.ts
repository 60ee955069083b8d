import { sql } from 'kysely'
import type { Db } from '../database.ts'

export interface Claim {
  projectId: string
  keyPairId: string
  /** For a call that was made with the secret of a browser session. */
  sessionId?: string | undefined
  keyDigest: Buffer
  bodyDigest: Buffer
  callId: string
  gatewayId: string
  conversationId: string | undefined
}

/** Why a pair, or a session of it, may not call. */
export type Standing = 'key_inactive' | 'account_not_activated' | 'domain_not_verified' | 'session_over'

export interface ClaimAnswer {
  /** claimed: go on; replay: answer from `result`; running: the first call has not ended; mismatch: another body. */
  state: 'claimed' | 'replay' | 'running' | 'mismatch' | Standing
  result: string | null
  /** The call that the key belongs to. */
  callId: string
}

/**
 * Whether the pair may call is read here once more, as the hold does for calls that run: a replay holds nothing, and what
 * a gateway remembers of a pair may be older than its revocation. functions/ledger_hold.sql and src/gateway/authenticate.ts
 * must say the same of a pair.
 */
export async function claimKey(db: Db, claim: Claim, leaseMs: number, keptMs: number): Promise<ClaimAnswer> {
  const { sessionId = null } = claim
  const { rows } = await sql<{
    standing: Standing | null
    state: ClaimAnswer['state']
    result: string | null
    id: string
  }>`
    with pair as (
      select case
          when k.active is not true or k.expires_at <= now() or p.archived_at is not null then 'key_inactive'
          when u.activated_at is null then 'account_not_activated'
          when d.verified_at is null then 'domain_not_verified'
          when ${sessionId}::uuid is not null and (s.id is null or s.expires_at <= now()) then 'session_over'
        end as standing
      from projects p
        join publishers u on u.id = p.publisher_id
        left join key_pairs k on k.project_id = p.id and k.id = ${claim.keyPairId}
        left join domains d on d.project_id = p.id
        left join browser_sessions s on s.key_pair_id = k.id and s.id = ${sessionId}
      where p.id = ${claim.projectId}
    ), claimed as materialized (
      select standing, case when standing is null then idempotency_claim(${claim.projectId}, ${claim.keyDigest},
        ${claim.bodyDigest}, ${claim.callId}, ${claim.gatewayId}, ${claim.conversationId ?? null},
        ${leaseMs} * interval '1 ms', ${keptMs} * interval '1 ms') end as a
      from pair
    )
    select standing, (a).state, (a).result, (a).call_id as id from claimed`.execute(db)
  const answer = rows[0]
  if (!answer) throw new Error('no answer to a claim')
  if (answer.standing !== null) return { state: answer.standing, result: null, callId: claim.callId }
  return { state: answer.state, result: answer.result, callId: answer.id }
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
