import type { Nanos } from '../money.ts'
import { TOKENS_PER_PRICE } from './pricing.ts'

/** Where a charge comes from: the token classes, in the order in which people read them. */
export const TOKEN_CLASSES = ['input', 'cachedInput', 'cacheWrite', 'output', 'reasoning'] as const
export type TokenClass = (typeof TOKEN_CLASSES)[number]

export interface Billed {
  charged: Nanos
  /** What the calls' tokens are worth, each call rounded up to a nano. */
  worth: Nanos
  tokens: Record<TokenClass, bigint>
  /** Nanos per million tokens. */
  price: Record<TokenClass, bigint>
}

export interface Breakdown {
  classes: Record<TokenClass, { tokens: bigint; nanos: Nanos }>
  /** What rounding each call up to a nano adds to the classes, each of which is rounded down here. */
  rounding: Nanos
  /** What was not charged because it was more than the call's hold and the wallet had. */
  notCharged: Nanos
  charged: Nanos
}

/**
 * Spend by token class, exactly: the classes plus the rounding, minus what was not charged, are what was charged. Prices
 * times tokens are no whole nanos, so a class is rounded down and what is left of it is part of the rounding.
 */
export function breakdownOf(parts: readonly Billed[]): Breakdown {
  const classes = {} as Breakdown['classes']
  let [charged, worth, whole] = [0n, 0n, 0n]
  for (const name of TOKEN_CLASSES) {
    const tokens = parts.reduce((sum, part) => sum + part.tokens[name], 0n)
    const nanos = parts.reduce((sum, part) => sum + part.tokens[name] * part.price[name], 0n) / TOKENS_PER_PRICE
    classes[name] = { tokens, nanos }
    whole += nanos
  }
  for (const part of parts) {
    charged += part.charged
    worth += part.worth
  }
  return { classes, rounding: worth - whole, notCharged: worth - charged, charged }
}

/** For how many days the credit lasts, in tenths, when each costs as much as the average of these; null: nothing was spent. */
export function daysLeft(available: Nanos, spent: Nanos, days: number): number | null {
  if (spent <= 0n) return null
  return Math.max(Number((available * BigInt(days) * 10n) / spent) / 10, 0)
}
