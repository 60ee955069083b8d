/** Money is an integer number of nanos: 1 credit = 1 US dollar = 1,000,000,000 nanos. */
export type Nanos = bigint

export const NANOS_PER_CREDIT = 1_000_000_000n

/** The most that the ledger's columns hold. One amount beyond it would fail the whole batch that it travels in. */
export const NANOS_MAX = 2n ** 63n - 1n

/** Rounds up, because a fraction of a nano cannot be charged and the operator has paid for it. */
export function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

const AMOUNTS = 'Use credits like 25 or 0.5, at most 999999999 and with at most nine decimals.'

/** Reads `12`, `12.5` or `$0.000000001`; throws on anything finer than a nano, so that no digit is ever lost. */
export function parseCredits(text: string): Nanos {
  const match = /^\$?(\d{1,9})(?:\.(\d{1,9}))?$/.exec(text.trim())
  if (!match) throw new Error(`"${text}" is not an amount. ${AMOUNTS}`)
  return BigInt(match[1] ?? '0') * NANOS_PER_CREDIT + BigInt((match[2] ?? '').padEnd(9, '0'))
}

/** `$12.50`, `-$0.000042`: at least two decimals, and as many more as the amount needs to be exact. */
export function formatCredits(nanos: Nanos): string {
  return nanos < 0n ? `-$${formatAmount(-nanos)}` : `$${formatAmount(nanos)}`
}

/** The same without the dollar sign, as spreadsheets and programs read numbers. */
export function formatAmount(nanos: Nanos): string {
  if (nanos < 0n) return `-${formatAmount(-nanos)}`
  const decimals = (nanos % NANOS_PER_CREDIT).toString().padStart(9, '0').replace(/0+$/, '').padEnd(2, '0')
  return `${nanos / NANOS_PER_CREDIT}.${decimals}`
}
