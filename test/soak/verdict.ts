/** What a run has to show, and whether it does. */
import type { Sample } from './probe.ts'

export interface Seen extends Sample {
  /** Since the traffic began. */
  seconds: number
}

const MIB = 1024 * 1024

/**
 * In a long run the slope of the heap is known to a tenth of this. In a short one it is not: what is left after a collection
 * differs by some hundred kilobytes from sample to sample, and code and caches that are used for the first time still come in,
 * which over forty seconds is a slope of about one megabyte a minute. Three is more than that, and at fifty calls a second it is
 * what a leak of one kilobyte for each call comes to: an entry of a map that is forgotten, with a request in it.
 */
export const LONG_RUN_SECONDS = 300
export function slopeMaxOf(seconds: number): number {
  return seconds >= LONG_RUN_SECONDS ? 1 : 3
}

/** What is loaded, compiled and remembered on the way to a steady state: a third, and two minutes at most. */
export function warmUpOf(seconds: number): number {
  return Math.min(seconds / 3, 120)
}

/** Megabytes a minute, by least squares, of the samples after the warm-up. */
export function slopeOf(samples: readonly Seen[], warmUpSeconds: number): number {
  const points = samples
    .filter(({ seconds }) => seconds >= warmUpSeconds)
    .map((seen) => [seen.seconds / 60, seen.heapBytes / MIB] as const)
  if (points.length < 5) return NaN
  const meanOf = (n: 0 | 1) => points.reduce((sum, point) => sum + point[n], 0) / points.length
  const [x, y] = [meanOf(0), meanOf(1)]
  const spread = points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0)
  return points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0) / spread
}

export function tableOf(samples: readonly Seen[]): string {
  const rows = samples.map(({ seconds, heapBytes, residentBytes, descriptors, lagMs }) =>
    [
      seconds.toFixed(0),
      (heapBytes / MIB).toFixed(1),
      (residentBytes / MIB).toFixed(0),
      String(descriptors),
      lagMs.toFixed(0),
    ]
      .map((cell) => cell.padStart(12))
      .join(''),
  )
  const head = ['seconds', 'heap MiB', 'rss MiB', 'descriptors', 'lag ms'].map((cell) => cell.padStart(12)).join('')
  return [head, ...rows].join('\n')
}
