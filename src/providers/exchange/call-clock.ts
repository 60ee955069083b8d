import { createWatchdog } from '../../platform/timer.ts'
import { STALL_BLAMED_MS, type UpstreamTimers } from '../../rules/limits.ts'
import type { UpstreamErrorKind } from '../provider.ts'

/** How soon after a break of its reader an upstream is found to have given up, if it did so because of the break. What was
 * already on its way comes first, so only the time that is spent waiting for the upstream counts. */
const FOUND_WITHIN_MS = 2_000

export type CallClock = ReturnType<typeof createCallClock>

/** The timers of one exchange. A caller that reads slowly is not an upstream that is silent or slow: none of them runs
 * while a piece is with its reader. */
export function createCallClock(timers: UpstreamTimers, onExpire: (kind: UpstreamErrorKind) => void) {
  const total = createWatchdog(timers.totalMs, () => onExpire('total_timeout'))
  let silence = createWatchdog(timers.firstTokenMs, () => onExpire('first_token_timeout'))
  let hasBegun = false
  let isPaused = false
  let pausedAtMs = 0
  let resumedAtMs = performance.now()
  let heldSinceMs: number | undefined
  /** How far its reader is behind: all its breaks, less the time that was spent waiting for the upstream since. */
  let behindMs = 0
  let waitedSinceBreakMs = Infinity

  function pause(): void {
    if (isPaused) return
    isPaused = true
    pausedAtMs = performance.now()
    const waitedMs = pausedAtMs - resumedAtMs
    behindMs = Math.max(0, behindMs - waitedMs)
    waitedSinceBreakMs += waitedMs
    total.pause(pausedAtMs)
    silence.pause(pausedAtMs)
  }

  /** Many short breaks are a long one: an upstream whose data is hardly ever taken gives up as well. */
  function endBreak(nowMs: number): void {
    if (heldSinceMs === undefined) return
    behindMs = Math.min(STALL_BLAMED_MS, behindMs + nowMs - heldSinceMs)
    heldSinceMs = undefined
    if (behindMs === STALL_BLAMED_MS) waitedSinceBreakMs = 0
  }

  return {
    /** Nothing is waited for that the upstream has to do. */
    pause,
    /** A piece is with its reader from now on. */
    handOver() {
      pause()
      heldSinceMs = performance.now()
    },
    resume(hasBegunNow: boolean) {
      const nowMs = performance.now()
      isPaused = false
      endBreak(nowMs)
      resumedAtMs = nowMs
      total.resume(nowMs)
      if (hasBegun) silence.restart()
      else if (hasBegunNow) {
        hasBegun = true
        silence.stop()
        silence = createWatchdog(timers.idleMs, () => onExpire('idle_timeout'))
      } else silence.resume(nowMs)
    },
    /** The reader has just come back from a long break. */
    isAfterBreak: () => waitedSinceBreakMs + (isPaused ? 0 : performance.now() - resumedAtMs) < FOUND_WITHIN_MS,
    stopAfter(ms: number, onEnd: () => void) {
      silence.stop()
      silence = createWatchdog(ms, onEnd)
    },
    stop() {
      silence.stop()
      total.stop()
    },
  }
}
