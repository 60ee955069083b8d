import type { Reply } from '../../api.ts'

export type CallDetail = Reply<'GET /api/projects/:project/calls/:call'>

export interface CostLine {
  label: string
  nanos: string
}

/** What the cache of the provider has saved, or cost: it is part of what was charged. None where it was not used. */
export function savingsOf({ tokens, savedNanos }: Pick<CallDetail, 'tokens' | 'savedNanos'>): CostLine[] {
  const isUsed = tokens.cachedInput + tokens.cacheWrite > 0
  return isUsed ? [{ label: 'Saved by caching the prompt', nanos: savedNanos }] : []
}

/** What leads from the cost of the tokens to what was charged: all of it adds up. */
export function linesToCharge(call: Pick<CallDetail, 'worthNanos' | 'chargedNanos' | 'roundingNanos'>): CostLine[] {
  const notCharged = BigInt(call.worthNanos) - BigInt(call.chargedNanos)
  return [
    ...(call.roundingNanos === '0'
      ? []
      : [{ label: 'Rounded up to a billionth of a dollar', nanos: call.roundingNanos }]),
    ...(notCharged > 0n ? [{ label: 'Not charged', nanos: (-notCharged).toString() }] : []),
  ]
}
