import type { Nanos } from '../money.ts'
import { TOKENS_PER_PRICE } from './pricing.ts'
import { perClass, TOKEN_CLASSES, type PerClass } from './usage.ts'

export interface Billed {
  charged: Nanos
  /** The value of the calls' tokens, each call rounded up to a nano. */
  worth: Nanos
  tokens: PerClass<bigint>
  /** Nanos per million tokens. */
  price: PerClass<bigint>
}

export interface Breakdown {
  classes: PerClass<{ tokens: bigint; nanos: Nanos }>
  /** The amount that rounding each call up to a nano adds to the classes, each of which is rounded down here. */
  rounding: Nanos
  /** The amount that was not charged because neither the call's hold nor the rest of the wallet covered it. */
  notCharged: Nanos
  charged: Nanos
}

/**
 * Spend by token class, exactly: the classes plus the rounding, minus what was not charged, are what was charged. Prices
 * times tokens are no whole nanos, so a class is rounded down and what is left of it is part of the rounding.
 */
export function breakdownOf(parts: readonly Billed[]): Breakdown {
  const sumOf = (amountOf: (part: Billed) => bigint) => parts.reduce((sum, part) => sum + amountOf(part), 0n)
  const classes = perClass((name) => ({
    tokens: sumOf(({ tokens }) => tokens[name]),
    nanos: sumOf(({ tokens, price }) => tokens[name] * price[name]) / TOKENS_PER_PRICE,
  }))
  const whole = TOKEN_CLASSES.reduce((sum, name) => sum + classes[name].nanos, 0n)
  const charged = sumOf((part) => part.charged)
  const worth = sumOf((part) => part.worth)
  return { classes, rounding: worth - whole, notCharged: worth - charged, charged }
}

/**
 * Returns what providers' caches have saved: the cost as plain input of the tokens that were read from them and written to
 * them, minus what those tokens did cost. Negative where the writes cost more than the reads saved.
 */
export function savedByCaches(parts: readonly Pick<Billed, 'tokens' | 'price'>[]): Nanos {
  const saved = parts.reduce((sum, { tokens, price }) => {
    const read = tokens.cachedInput * (price.input - price.cachedInput)
    return sum + read + tokens.cacheWrite * (price.input - price.cacheWrite)
  }, 0n)
  return saved / TOKENS_PER_PRICE
}

/** For how many days the credit lasts, in tenths, when each costs as much as the average of these; null: nothing was spent. */
export function daysLeft(available: Nanos, spent: Nanos, days: number): number | null {
  if (spent <= 0n) return null
  return Math.max(Number((available * BigInt(days) * 10n) / spent) / 10, 0)
}
