import type { Reply } from '../../api.ts'

export type CallDetail = Reply<'GET /api/projects/:project/calls/:call'>

export interface CostLine {
  label: string
  nanos: string
}

/** The amount that the provider's cache made the call cheaper, or dearer: the lines of the tokens include it already. */
export function savingsOf({ savedNanos }: Pick<CallDetail, 'savedNanos'>): CostLine[] {
  return savedNanos === '0' ? [] : [{ label: 'Saved by caching the prompt', nanos: savedNanos }]
}

/** The lines between the cost of the tokens and the amount charged, so that everything adds up. */
export function linesToCharge(call: Pick<CallDetail, 'worthNanos' | 'chargedNanos' | 'roundingNanos'>): CostLine[] {
  const notCharged = BigInt(call.worthNanos) - BigInt(call.chargedNanos)
  return [
    ...(call.roundingNanos === '0'
      ? []
      : [{ label: 'Rounded up to a billionth of a dollar', nanos: call.roundingNanos }]),
    ...(notCharged > 0n ? [{ label: 'Not charged', nanos: (-notCharged).toString() }] : []),
  ]
}
