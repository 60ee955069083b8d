import type { SimulatedCall } from '../../simulator/calls.ts'
import { costOf } from '../../src/rules/billing/pricing.ts'
import { NO_USAGE } from '../../src/rules/billing/usage.ts'
import type { Seen } from './caller.ts'
import type { Trial } from './trial.ts'
import { PRICE, type Charge } from './world.ts'

/** The caller's charge for a trial, next to the provider's bill. */
export interface Verdict {
  kind: string
  id: string
  billed: bigint
  charged: bigint
  isUndercharged: boolean
  isOvercharged: boolean
  /** It has cost the operator and not the caller, although the caller caused its ending. */
  isFree: boolean
  /** How far the charge is from the bill, in millionths of it, where the table says that they are the same. */
  deviationPpm: number
  what: string
}

/** Where a run without a break is counted in slices, each may add a token: that shows where a prompt is all blanks. */
const COUNTED_WITHIN_PERCENT = 1n
const COUNTED_WITHIN_TOKENS = 100

export function judge(trial: Trial, seen: Seen, calls: readonly SimulatedCall[], charges: readonly Charge[]): Verdict {
  const billed = calls.reduce((sum, call) => sum + billOf(call), 0n)
  const charged = charges.reduce((sum, charge) => sum + charge.charged, 0n)
  const [least, most] = boundsOf(trial, seen, calls, billed)
  const isCallersDoing = trial.pays !== 'nothing'
  const difference = charged > billed ? charged - billed : billed - charged
  // Tokens that were on their way when the caller left or its credit ran out are on the bill, but never arrived to be counted.
  const isComparable = billed > 0n && (trial.pays === 'billed' || trial.pays === 'counted')
  return {
    kind: trial.kind,
    id: trial.id,
    billed,
    charged,
    isUndercharged: charged < least,
    isOvercharged: charged > most,
    isFree: isCallersDoing && billed > 0n && charged === 0n,
    deviationPpm: isComparable ? Number((difference * 1_000_000n) / billed) : 0,
    what: `${seen.status ?? 'no status'}, ${charges.map(({ outcome, source }) => `${outcome}/${source}`).join(' + ')}`,
  }
}

function boundsOf({ pays, funds }: Trial, seen: Seen, calls: readonly SimulatedCall[], billed: bigint) {
  switch (pays) {
    case 'nothing':
      return [0n, 0n] as const
    case 'billed':
      return [billed, billed] as const
    case 'counted': {
      const leeway = largest((billed * COUNTED_WITHIN_PERCENT) / 100n, costOfTokens({ input: COUNTED_WITHIN_TOKENS }))
      return [billed - leeway, billed + leeway] as const
    }
    case 'no thoughts': {
      const thoughts = calls.reduce((sum, { bill }) => sum + (bill?.reasoning ?? 0), 0)
      const possible = billed - costOfTokens({ reasoning: thoughts })
      return [possible, possible] as const
    }
    case 'streamed': {
      const prompt = calls.reduce((sum, { bill }) => sum + (bill?.fresh ?? 0), 0)
      return [costOfTokens({ input: prompt, output: seen.chunks }), billed] as const
    }
    case 'funds': {
      const affordable = funds === undefined || billed < funds ? billed : funds
      return [affordable, affordable] as const
    }
  }
}

function largest(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function billOf({ bill }: SimulatedCall): bigint {
  if (!bill) return 0n
  const { fresh: input, cached: cachedInput, cacheWrite, completion: output, reasoning } = bill
  return costOf({ input, cachedInput, cacheWrite, output, reasoning }, PRICE)
}

function costOfTokens(tokens: { input?: number; output?: number; reasoning?: number }): bigint {
  return costOf({ ...NO_USAGE, ...tokens }, PRICE)
}
