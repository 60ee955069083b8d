import type { ChartPoint } from './chart-data.ts'

const STEPS = [1, 2, 2.5, 5, 10]
const INTERVALS_MAX = 5

/** Round numbers from nothing to just above the highest: $0.10, $0.20 and not $0.085, $0.17. */
export function scaleOf(highest: number): { domain?: [number, number]; ticks?: number[] } {
  if (!Number.isFinite(highest) || highest <= 0) return {}
  const rough = highest / INTERVALS_MAX
  const power = 10 ** Math.max(0, Math.floor(Math.log10(rough)))
  // Calls, tokens, nanos and milliseconds are all counted in whole numbers.
  const steps = STEPS.map((each) => each * power).filter(Number.isInteger)
  const step = steps.find((each) => each >= rough) ?? 10 * power
  const count = Math.ceil(highest / step)
  return { domain: [0, count * step], ticks: Array.from({ length: count + 1 }, (_, n) => n * step) }
}

/** Returns the points of a line that have no neighbour to be joined with: a line of one point would not be visible. */
export function alone(points: readonly ChartPoint[], series: string): Set<number> {
  const has = (n: number) => points[n]?.values[series] !== undefined
  return new Set(points.flatMap((_, n) => (has(n) && !has(n - 1) && !has(n + 1) ? [n] : [])))
}

/** Under the axis, in UTC: `14:00`, or `1 Mar`. */
export function tickOf(at: string, every: 'hour' | 'day'): string {
  const format =
    every === 'hour' ? ({ hour: '2-digit', minute: '2-digit' } as const) : ({ day: 'numeric', month: 'short' } as const)
  return new Intl.DateTimeFormat('en-GB', { ...format, timeZone: 'UTC' }).format(new Date(at))
}

/** Above the values of one bar: `Sun 1 Mar (UTC)`, or `Sun 1 Mar, 14:00 UTC`. */
export function momentOf(at: string, every: 'hour' | 'day'): string {
  const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' })
  return every === 'day' ? `${day.format(new Date(at))} (UTC)` : `${day.format(new Date(at))}, ${at.slice(11, 16)} UTC`
}
