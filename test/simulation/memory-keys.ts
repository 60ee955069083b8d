import type { KeyRow, Tables } from './memory-tables.ts'

/** What migrations/0005_idempotency.sql and src/store/idempotency.ts do, on tables in memory. */

export type Claim = Pick<KeyRow, 'projectId' | 'key' | 'body' | 'callId' | 'gatewayId'>

export interface ClaimAnswer {
  state: 'claimed' | 'replay' | 'running' | 'mismatch'
  result: string | null
  callId: string
}

export function claimKey(tables: Tables, claim: Claim, leaseMs: number, nowMs: number): ClaimAnswer {
  const known = tables.keys.find(({ projectId, key }) => projectId === claim.projectId && key === claim.key)
  if (known) {
    if (known.body !== claim.body) return { state: 'mismatch', result: null, callId: known.callId }
    if (known.result !== null) return { state: 'replay', result: known.result, callId: known.callId }
    const isAlive = (tables.beats.get(known.gatewayId) ?? Number.NEGATIVE_INFINITY) > nowMs - leaseMs
    if (isAlive || tables.holds.has(known.callId)) return { state: 'running', result: null, callId: known.callId }
    tables.keys.splice(tables.keys.indexOf(known), 1)
  }
  tables.keys.push({ ...claim, result: null, createdMs: nowMs })
  return { state: 'claimed', result: null, callId: claim.callId }
}

export function giveUpKey(tables: Tables, callId: string): void {
  tables.keys = tables.keys.filter((key) => key.callId !== callId || key.result !== null)
}

export function giveUpOrphanedKeys(
  tables: Tables,
  gatewayId: string,
  running: readonly string[],
  olderThanMs: number,
  nowMs: number,
): void {
  tables.keys = tables.keys.filter(
    (key) =>
      key.gatewayId !== gatewayId ||
      key.result !== null ||
      key.createdMs >= nowMs - olderThanMs ||
      running.includes(key.callId) ||
      tables.holds.has(key.callId),
  )
}
