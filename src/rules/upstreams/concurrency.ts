/**
 * How many concurrent calls a provider lets through: unlimited until it says that there are too many, then cut by
 * a third and grown again by one at a time, as TCP finds the width of a line.
 */
export interface Concurrency {
  limit: number
  inFlight: number
  /** How often the limit was cut: calls from before a cut must not cut it again. */
  cuts: number
  /** The limit has been reached since it last changed. One that nobody reaches need not grow. */
  isUsedUp: boolean
  /** Since the limit last changed, while it was used up. */
  successes: number
}

/** `overload`: 429, 503 or 529. */
export type SlotEnd = 'success' | 'overload' | 'other'

export const UNLIMITED: Concurrency = {
  limit: Number.POSITIVE_INFINITY,
  inFlight: 0,
  cuts: 0,
  isUsedUp: false,
  successes: 0,
}

const LIMIT_MIN = 4
/** From here on it would take a flood to tell a limit from none. */
const UNLIMITED_FROM = 1_000
const CUT_TO = 0.7
const SUCCESSES_PER_STEP = 20

export function hasRoom({ inFlight, limit }: Concurrency): boolean {
  return inFlight < limit
}

export function withOneMore(concurrency: Concurrency): Concurrency {
  const inFlight = concurrency.inFlight + 1
  return { ...concurrency, inFlight, isUsedUp: concurrency.isUsedUp || inFlight >= concurrency.limit }
}

/** `cutsBefore` is what `cuts` was when this call began. */
export function withOneLess(concurrency: Concurrency, end: SlotEnd, cutsBefore: number): Concurrency {
  const left = { ...concurrency, inFlight: concurrency.inFlight - 1 }
  if (end === 'overload' && cutsBefore === concurrency.cuts) {
    const limit = Math.min(left.limit, Math.max(LIMIT_MIN, Math.floor(concurrency.inFlight * CUT_TO)))
    return { ...left, limit, cuts: left.cuts + 1, isUsedUp: false, successes: 0 }
  }
  if (end !== 'success' || !left.isUsedUp) return left
  const successes = left.successes + 1
  if (successes < SUCCESSES_PER_STEP) return { ...left, successes }
  const limit = left.limit + 1 >= UNLIMITED_FROM ? UNLIMITED.limit : left.limit + 1
  return { ...left, limit, isUsedUp: false, successes: 0 }
}
