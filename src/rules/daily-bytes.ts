import { DAY_MS } from './durations.ts'

/** How much of something was kept on a day in UTC. */
export interface DailyBytes {
  /** Since 1970. */
  day: number
  bytes: number
}

/** With so much more. A new day begins with nothing. */
export function withBytes(kept: DailyBytes | undefined, more: number, nowMs: number): DailyBytes {
  const day = Math.floor(nowMs / DAY_MS)
  return { day, bytes: (kept?.day === day ? kept.bytes : 0) + more }
}
