import type { Nanos } from '../money.ts'
import { costOf, type Price } from './pricing.ts'
import { NO_USAGE, type Usage } from './usage.ts'

/** How a call ended. docs/billing.md states what each costs the publisher; a test keeps that page and this file equal. */
export const CALL_OUTCOMES = [
  'completed',
  'hung_up',
  'hold_used_up',
  'upstream_failed',
  'truncated',
  'timed_out',
  'gateway_failed',
  'gateway_died',
] as const
export type CallOutcome = (typeof CALL_OUTCOMES)[number]

export type UsageSource = 'reported' | 'estimated' | 'none'

export interface Ending {
  outcome: CallOutcome
  /** The provider's work for the call. Undefined: no provider had accepted the prompt, or it broke before its first chunk. */
  used: { usage: Usage; source: 'reported' | 'estimated' } | undefined
  held: Nanos
}

export interface Bill {
  usage: Usage
  source: UsageSource
  /** The value of the tokens at the frozen price. */
  worth: Nanos
  /** The part that the publisher pays. The difference is the operator's loss. */
  charge: Nanos
}

/**
 * The charging table. A publisher pays for a complete answer and for what it cancelled; it never pays for an answer that
 * our side or the provider broke, nor for one that no provider had begun to work on.
 */
export function billFor({ outcome, used, held }: Ending, price: Price): Bill {
  if (!used) return { usage: NO_USAGE, source: 'none', worth: 0n, charge: 0n }
  const { usage, source } = used
  const worth = costOf(usage, price)
  switch (outcome) {
    case 'completed':
      // A missing report is not the publisher's doing: our own count takes no more than was set aside.
      return { usage, source, worth, charge: source === 'reported' ? worth : least(worth, held) }
    case 'hung_up':
      // The party that causes an ending pays for it, from the hold and then from what is available.
      return { usage, source, worth, charge: worth }
    case 'hold_used_up':
      return { usage, source, worth, charge: least(worth, held) }
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
