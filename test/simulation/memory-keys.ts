import type { Claim, ClaimAnswer } from '../../src/store/calls/idempotency.ts'
import type { Tables } from './memory-tables.ts'

/** In-memory versions of functions/idempotency_claim.sql and src/store/calls/idempotency.ts. */

export function claimKey(tables: Tables, claim: Claim, leaseMs: number, keptMs: number, nowMs: number): ClaimAnswer {
  const { projectId, callId, gatewayId } = claim
  const key = claim.keyDigest.toString('hex')
  const body = claim.bodyDigest.toString('hex')
  const known = tables.keys.find((row) => row.projectId === projectId && row.key === key)
  if (known && known.createdMs > nowMs - keptMs) {
    if (known.body !== body) return { state: 'mismatch', result: null, callId: known.callId }
    if (known.result !== null) return { state: 'replay', result: known.result, callId: known.callId }
    const isAlive = (tables.beats.get(known.gatewayId) ?? Number.NEGATIVE_INFINITY) > nowMs - leaseMs
    if (isAlive || tables.holds.has(known.callId)) return { state: 'running', result: null, callId: known.callId }
  }
  tables.keys = tables.keys.filter((row) => row !== known)
  tables.keys.push({ projectId, key, body, callId, gatewayId, result: null, createdMs: nowMs })
  return { state: 'claimed', result: null, callId }
}

export function giveUpKey(tables: Tables, callId: string): void {
  tables.keys = tables.keys.filter((row) => row.callId !== callId || row.result !== null)
}

export function giveUpOrphanedKeys(
  tables: Tables,
  gatewayId: string,
  running: readonly string[],
  olderThanMs: number,
  nowMs: number,
): void {
  tables.keys = tables.keys.filter(
    (row) =>
      row.gatewayId !== gatewayId ||
      row.result !== null ||
      row.createdMs >= nowMs - olderThanMs ||
      running.includes(row.callId) ||
      tables.holds.has(row.callId),
  )
}
