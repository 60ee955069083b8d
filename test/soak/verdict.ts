/** The requirements of a run, and whether it meets them. */
import type { Sample } from './probe.ts'

export interface Seen extends Sample {
  /** Since the traffic began. */
  seconds: number
}

const MIB = 1024 * 1024

/**
 * Megabytes a minute that the heap may grow. In a long run everything that is bounded is full. In a short one a call leaves 0.8 to 0.9
 * KiB in memories that are not full yet: tokens of texts, beginnings of conversations, key pairs. A leak of one kilobyte for each call
 * comes on top of that: an entry of a map that is forgotten, with a request in it.
 */
const LONG_RUN_SECONDS = 900
const KEPT_PER_CALL_KIB_MAX = 1.4
export function slopeMaxOf(seconds: number, calls: number): number {
  return seconds >= LONG_RUN_SECONDS ? 1 : (KEPT_PER_CALL_KIB_MAX / 1_024) * (calls / seconds) * 60
}

/**
 * The warm-up on the way to a steady state, while code is compiled and memories fill: a third of a run, half of a long one.
 * A gateway remembers the tokens of 20,000 texts; that memory is full after five minutes, or eight on a busy machine.
 */
export function warmUpOf(seconds: number): number {
  return seconds / (seconds >= LONG_RUN_SECONDS ? 2 : 3)
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
