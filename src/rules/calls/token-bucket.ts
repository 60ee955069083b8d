/**
 * How often somebody may ask: so many requests a second, and for a moment as many as were saved up while it asked less.
 */
export interface Bucket {
  tokens: number
  atMs: number
}

export interface Rate {
  perSecond: number
  /** How many can be saved up. */
  burst: number
}

/** The burst that a rate lets through at once, in seconds of it: honest traffic comes in bursts. */
const BURST_SECONDS = 10

export function rateOf(perSecond: number): Rate {
  return { perSecond, burst: perSecond * BURST_SECONDS }
}

/** `waitMs` is 0 when the request may pass, and then it has been counted. */
export function takeToken(before: Bucket | undefined, rate: Rate, nowMs: number): { bucket: Bucket; waitMs: number } {
  const tokens = tokensOf(before, rate, nowMs)
  if (tokens >= 1) return { bucket: { tokens: tokens - 1, atMs: nowMs }, waitMs: 0 }
  return { bucket: { tokens, atMs: nowMs }, waitMs: ((1 - tokens) / rate.perSecond) * 1_000 }
}

/**
 * Spends an amount that is known only afterwards: it may leave less than nothing, which is paid off before anything else
 * passes.
 */
export function spend(before: Bucket | undefined, rate: Rate, amount: number, nowMs: number): Bucket {
  return { tokens: tokensOf(before, rate, nowMs) - amount, atMs: nowMs }
}

/** In milliseconds; 0 when something is left. */
export function waitUntilPaid(bucket: Bucket | undefined, rate: Rate, nowMs: number): number {
  return Math.max(0, (-tokensOf(bucket, rate, nowMs) / rate.perSecond) * 1_000)
}

function tokensOf(before: Bucket | undefined, { perSecond, burst }: Rate, nowMs: number): number {
  return before ? Math.min(before.tokens + ((nowMs - before.atMs) / 1_000) * perSecond, burst) : burst
}
