const NANOS_PER_CENT = 10_000_000n

/** Whether the payment page takes this amount: within the limits, both included, and in whole cents. */
export function isPayable(nanos: string | undefined, limits: { minNanos: string; maxNanos: string }): boolean {
  if (nanos === undefined) return false
  const amount = BigInt(nanos)
  return amount >= BigInt(limits.minNanos) && amount <= BigInt(limits.maxNanos) && amount % NANOS_PER_CENT === 0n
}

/** Below this, unless it has an alert of its own, a project should be topped up. */
const LOW_BALANCE_NANOS = '1000000000'

export function isLow(wallet: { balanceNanos: string; alertNanos: string | null }): boolean {
  return BigInt(wallet.balanceNanos) < BigInt(wallet.alertNanos ?? LOW_BALANCE_NANOS)
}
