import { ParleyError } from '../../src/rules/errors.ts'
import type { CallRecord } from './call-record.ts'
import { isRepeatable } from './route-invariants.ts'
import type { World } from './world.ts'

/** Returns the sightings of one run. A simulation in which nothing ever happens finds nothing either. */
export function sightingsIn({ bank: { tables }, records }: World): Set<string> {
  const seen = new Set<string>()
  for (const { outcome, charged, worth, held } of tables.charges) {
    seen.add(outcome)
    if (charged > held) seen.add('overrun paid from what is available')
    if (charged < worth && outcome === 'completed') seen.add('shortfall')
  }
  for (const { kind } of tables.transfers) seen.add(kind)
  for (const record of records.values()) for (const sight of sightingsOf(record)) seen.add(sight)
  return seen
}

function sightingsOf({ granted, settlements, attempts, end, replayed, plan }: CallRecord): string[] {
  const seen: string[] = []
  if (new Set(granted).size > 1) seen.push('extension')
  if (granted.length === 0 && end?.kind === 'threw' && end.error instanceof ParleyError) seen.push(end.error.code)
  if (granted.length > 0 && settlements.size === 0) seen.push('held and never settled by its gateway')
  if (settlements.size > 0 && end?.kind === 'threw' && end.error instanceof ParleyError)
    if (end.error.code === 'store_unavailable') seen.push('answered and not settled in time')
  if (attempts.some(isRepeatable) && plan.deployments === 1 && attempts.length > 1)
    seen.push('second attempt at the same deployment')
  if (new Set(attempts.map(({ provider }) => provider)).size > 1) seen.push('second deployment')
  if (
    attempts.some(
      (one, i) => i > 0 && one.provider === attempts[i - 1]!.provider && one.apiKey !== attempts[i - 1]!.apiKey,
    )
  )
    seen.push('second key')
  if (granted.length > 0 && attempts.length === 0 && end?.kind === 'threw' && end.error instanceof ParleyError)
    seen.push(`${end.error.code} without an attempt`)
  if (attempts.some(({ maxTokens }) => maxTokens !== plan.maxTokens)) seen.push('max_tokens lowered')
  if (replayed) seen.push('answered from the stored result')
  return seen
}
