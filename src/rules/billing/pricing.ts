import { divideUp, NANOS_MAX, type Nanos } from '../money.ts'
import { NO_USAGE, type PerClass, type Usage } from './usage.ts'

/** Nanos per million tokens of each class; every published price is exact in this unit. */
export interface Price extends PerClass<bigint> {
  /** The immutable version that a hold freezes and a receipt names. */
  version: bigint
}

export const TOKENS_PER_PRICE = 1_000_000n

/** Returns the cost of these tokens, rounded up once at the end and never per class. Never more than can be stored. */
export function costOf(usage: Usage, price: PerClass<bigint>): Nanos {
  const cost = divideUp(unroundedCostOf(usage, price), TOKENS_PER_PRICE)
  return cost < NANOS_MAX ? cost : NANOS_MAX
}

/** Written out and not a loop over the classes: it is asked for every chunk. */
function unroundedCostOf(usage: Usage, price: PerClass<bigint>): bigint {
  return (
    BigInt(usage.input) * price.input +
    BigInt(usage.cachedInput) * price.cachedInput +
    BigInt(usage.cacheWrite) * price.cacheWrite +
    BigInt(usage.output) * price.output +
    BigInt(usage.reasoning) * price.reasoning
  )
}

/** A prompt at its dearest: what is written to a provider's cache may cost more than what is only read. */
export function dearestPrompt(promptTokens: number, price: PerClass<bigint>): Usage {
  return price.cacheWrite > price.input
    ? { ...NO_USAGE, cacheWrite: promptTokens }
    : { ...NO_USAGE, input: promptTokens }
}

/** How many answer tokens an amount buys after this prompt is paid for. Never more than `most`. */
export function outputTokensFor(amount: Nanos, promptTokens: number, price: Price, most: number): number {
  const dearest = price.output > price.reasoning ? 'output' : 'reasoning'
  return moreTokensFor(amount, dearestPrompt(promptTokens, price), dearest, price, most)
}

/** How many tokens of one class an amount buys after these others are paid for. Never more than `most`. */
export function moreTokensFor(
  amount: Nanos,
  others: Usage,
  of: 'output' | 'reasoning',
  price: Price,
  most: number,
): number {
  const left = amount * TOKENS_PER_PRICE - unroundedCostOf(others, price)
  if (left < 0n) return 0
  if (price[of] === 0n) return most
  const tokens = left / price[of]
  return tokens < BigInt(most) ? Number(tokens) : most
}
