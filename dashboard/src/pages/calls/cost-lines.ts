import type { Reply } from '../../api.ts'

export type CallDetail = Reply<'GET /api/projects/:project/calls/:call'>

export interface CostLine {
  label: string
  nanos: string
}

/** What the provider's cache has made cheaper, or dearer: it is in the lines of the tokens already. */
export function savingsOf({ savedNanos }: Pick<CallDetail, 'savedNanos'>): CostLine[] {
  return savedNanos === '0' ? [] : [{ label: 'Saved by caching the prompt', nanos: savedNanos }]
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
