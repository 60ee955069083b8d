/** A timer that can be pushed back cheaply, thousands of times a second. */
export interface Watchdog {
  /** Starts the wait anew, with another length if given. */
  restart(ms?: number): void
  /** Nothing is waited for until the next `restart` or `resume`. */
  pause(nowMs?: number): void
  /** Goes on with what was left when it was paused. */
  resume(nowMs?: number): void
  stop(): void
}

/** Later than this, the process was paused or the event loop stalled: what was waited for may be here, unread. */
const LATE_MS = 500
const GRACE_MS = 1_000

/**
 * Calls `onExpire` once after `ms` of silence. A process that wakes from a pause finds all its timers expired before it
 * has read a single byte that arrived meanwhile; such a late expiry gets one second of grace.
 */
export function createWatchdog(ms: number, onExpire: () => void): Watchdog {
  let due = performance.now() + ms
  let length = ms
  let leftMs = ms
  /** It was paused when its timer came: whoever goes on sets another. */
  let isAsleep = false
  let timer = setTimeout(check, ms)

  function check(): void {
    const now = performance.now()
    if (due === Number.POSITIVE_INFINITY) {
      isAsleep = true
    } else if (now < due - 1) {
      timer = setTimeout(check, Math.min(due - now, length))
    } else if (now - due > LATE_MS) {
      due = now + GRACE_MS
      timer = setTimeout(check, GRACE_MS)
    } else {
      onExpire()
    }
  }

  function waitUntil(dueMs: number, nowMs: number): void {
    due = dueMs
    if (!isAsleep) return // `check` finds the later due time by itself.
    isAsleep = false
    timer = setTimeout(check, Math.max(dueMs - nowMs, 0))
  }

  return {
    restart(newMs) {
      const now = performance.now()
      if (newMs === undefined || newMs === length) return waitUntil(now + length, now)
      due = now + newMs
      length = newMs
      isAsleep = false
      clearTimeout(timer)
      timer = setTimeout(check, newMs)
    },
    pause(nowMs = performance.now()) {
      leftMs = due - nowMs
      due = Number.POSITIVE_INFINITY
    },
    resume(nowMs = performance.now()) {
      waitUntil(nowMs + leftMs, nowMs)
    },
    stop() {
      clearTimeout(timer)
      isAsleep = false
    },
  }
}
