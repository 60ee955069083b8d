/** Numbers that were measured several times: the middle one, and how far the others are from it. */

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** The value below which this share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) * share
  const [low = NaN, high = low] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]]
  return low + (high - low) * (at - Math.floor(at))
}

/** Undefined where nothing was measured. */
export function spreadOf(values: readonly number[]): Spread | undefined {
  if (values.length === 0) return undefined
  return { median: quantile(values, 0.5), min: Math.min(...values), max: Math.max(...values) }
}

/** So that nobody is always first, or always after the same one. */
export function rotated<T>(list: readonly T[], by: number): T[] {
  const at = list.length === 0 ? 0 : by % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}
