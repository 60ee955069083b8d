import type { Nanos } from './money.ts'
import { costOf, type Price } from './pricing.ts'
import { NO_USAGE, type Usage } from './usage.ts'

/** How a call ended. docs/billing.md states what each costs the publisher; a test keeps that page and this file equal. */
export const OUTCOMES = [
  'completed',
  'hung_up',
  'hold_used_up',
  'upstream_failed',
  'truncated',
  'timed_out',
  'gateway_failed',
  'gateway_died',
] as const
export type Outcome = (typeof OUTCOMES)[number]

export type UsageSource = 'reported' | 'estimated' | 'none'

export interface Ending {
  outcome: Outcome
  /** Whether any part of the answer came from the provider. */
  started: boolean
  /** What the provider reported, if it did and it is plausible. */
  reported: Usage | undefined
  /** What we counted ourselves: the whole prompt, and the answer as far as it came. */
  counted: Usage
  held: Nanos
}

export interface Bill {
  usage: Usage
  source: UsageSource
  /** What the tokens are worth at the frozen price. */
  worth: Nanos
  /** What the publisher pays of it. The difference is the operator's loss. */
  charge: Nanos
}

/**
 * The charging table. A publisher pays for a complete answer and for what it cancelled midway; it never pays for an
 * answer that our side or the provider broke, nor for one that never began.
 */
export function billFor(ending: Ending, price: Price): Bill {
  if (!ending.started && ending.outcome !== 'completed')
    return { usage: NO_USAGE, source: 'none', worth: 0n, charge: 0n }
  const usage = ending.reported ?? ending.counted
  const source = ending.reported ? 'reported' : 'estimated'
  const worth = costOf(usage, price)
  switch (ending.outcome) {
    case 'completed':
      // An estimate is ours, so it never takes more than was set aside for the call.
      return { usage, source, worth, charge: ending.reported ? worth : least(worth, ending.held) }
    case 'hung_up':
    case 'hold_used_up':
      return { usage, source, worth, charge: least(worth, ending.held) }
    case 'upstream_failed':
    case 'truncated':
    case 'timed_out':
    case 'gateway_failed':
    case 'gateway_died':
      return { usage, source, worth, charge: 0n }
  }
}

function least(a: Nanos, b: Nanos): Nanos {
  return a < b ? a : b
}
