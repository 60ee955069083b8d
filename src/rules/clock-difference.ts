/** Ids, prices and the days of budgets go by the clocks of hosts: more than this is told to the operator. */
export const CLOCK_DIFFERENCE_MS_MAX = 5_000

/** When the store was asked for the time and when it had answered, by the clock of this host. */
interface Asking {
  askedMs: number
  answeredMs: number
}

/** By how much the clock of this host is ahead of the store's, which was read at some moment in between; negative: behind. */
export function clockAheadMs(storeTime: Date, { askedMs, answeredMs }: Asking): number {
  const storeMs = storeTime.getTime()
  if (storeMs < askedMs) return askedMs - storeMs
  return storeMs > answeredMs ? answeredMs - storeMs : 0
}
