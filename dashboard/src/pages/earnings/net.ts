export interface Net {
  label: 'Net cost' | 'Net gain'
  /** Never below zero. */
  nanos: string
}

/** The cost of tokens minus the earnings from clicks. */
export function netOf({ costNanos, earnedNanos }: { costNanos: string; earnedNanos: string }): Net {
  const net = BigInt(costNanos) - BigInt(earnedNanos)
  return net < 0n ? { label: 'Net gain', nanos: String(-net) } : { label: 'Net cost', nanos: String(net) }
}
