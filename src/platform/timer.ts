/** A timer that can be pushed back cheaply, thousands of times a second. */
export interface Watchdog {
  /** Starts the wait anew, with another length if given. */
  restart(ms?: number): void
  /** Nothing is waited for until the next `restart`. */
  pause(): void
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
  let timer = setTimeout(check, ms)

  function check(): void {
    const now = performance.now()
    if (now < due - 1) {
      timer = setTimeout(check, Math.min(due - now, length))
    } else if (now - due > LATE_MS) {
      due = now + GRACE_MS
      timer = setTimeout(check, GRACE_MS)
    } else {
      onExpire()
    }
  }

  return {
    restart(newMs) {
      due = performance.now() + (newMs ?? length)
      if (newMs === undefined || newMs === length) return // `check` finds the later due time by itself.
      length = newMs
      clearTimeout(timer)
      timer = setTimeout(check, newMs)
    },
    pause() {
      due = Number.POSITIVE_INFINITY
    },
    stop() {
      clearTimeout(timer)
    },
  }
}
