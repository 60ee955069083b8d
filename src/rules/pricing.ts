import { divideUp, type Nanos } from './money.ts'
import type { Usage } from './usage.ts'

/** Nanos per million tokens of each class; every published price is exact in this unit. */
export interface Price {
  /** The immutable version that a hold freezes and a receipt names. */
  version: bigint
  input: bigint
  cachedInput: bigint
  cacheWrite: bigint
  output: bigint
  reasoning: bigint
}

const TOKENS_PER_PRICE = 1_000_000n

/** What these tokens cost. Rounds up once, at the end, and never per class. */
export function costOf(usage: Usage, price: Omit<Price, 'version'>): Nanos {
  return divideUp(
    BigInt(usage.input) * price.input +
      BigInt(usage.cachedInput) * price.cachedInput +
      BigInt(usage.cacheWrite) * price.cacheWrite +
      BigInt(usage.output) * price.output +
      BigInt(usage.reasoning) * price.reasoning,
    TOKENS_PER_PRICE,
  )
}

/** How many answer tokens an amount buys after this prompt is paid for. Never more than `most`. */
export function outputTokensFor(amount: Nanos, promptTokens: number, price: Price, most: number): number {
  const forOutput = amount * TOKENS_PER_PRICE - BigInt(promptTokens) * price.input
  if (forOutput < 0n) return 0
  const dearest = price.output > price.reasoning ? price.output : price.reasoning
  if (dearest === 0n) return most
  const tokens = forOutput / dearest
  return tokens < BigInt(most) ? Number(tokens) : most
}
