/**
 * The figures about all calls together that may be published without telling anything about one publisher's: neither to
 * strangers nor to another publisher, which knows its own part and can subtract it.
 */

/** With fewer, who they are is easily guessed. */
const PUBLISHERS_MIN = 5
/** The p% rule of official statistics: what the two largest do not account for must blur the largest by so much of it. */
const BLUR_MIN = 0.2
const DIGITS = 2

/**
 * The sum of calls, rounded down to two digits; null when it would tell of somebody. `callsByPublisher`: of each that had any.
 */
export function tellableCalls(callsByPublisher: readonly number[]): number | null {
  const [largest = 0, second = 0, ...others] = callsByPublisher.toSorted((a, b) => b - a)
  if (callsByPublisher.length < PUBLISHERS_MIN) return null
  const rest = others.reduce((sum, calls) => sum + calls, 0)
  return rest < BLUR_MIN * largest ? null : roundedDown(largest + second + rest)
}

/** Null where two digits would be all of them. */
function roundedDown(count: number): number | null {
  const unit = 10 ** (String(Math.trunc(count)).length - DIGITS)
  return unit > 1 ? Math.floor(count / unit) * unit : null
}
