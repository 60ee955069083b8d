/** Told once when the store stops writing, and once when it writes again. */
export interface LedgerEvents {
  onPutOff?(error: unknown): void
  onRecovered?(): void
}

const UNWRITABLE_AFTER_MS = 5_000
/** Nothing else than a call shows that the store writes again, and a gateway that is not ready gets none. */
const TRIED_AGAIN_AFTER_MS = 10_000

/** A full disk, for one, refuses what the ledger writes and nothing else. */
export function createWriteState({ onPutOff, onRecovered }: LedgerEvents) {
  let failing: { sinceMs: number; lastMs: number } | undefined
  return {
    putOff(error: unknown): void {
      const nowMs = performance.now()
      if (failing) {
        // Calls are tried again after a pause: they get as long as the first ones before they are kept away.
        if (nowMs - failing.lastMs > TRIED_AGAIN_AFTER_MS) failing.sinceMs = nowMs
        failing.lastMs = nowMs
        return
      }
      failing = { sinceMs: nowMs, lastMs: nowMs }
      onPutOff?.(error)
    },
    answered(): void {
      if (!failing) return
      failing = undefined
      onRecovered?.()
    },
    get isWritable(): boolean {
      if (!failing) return true
      const nowMs = performance.now()
      return nowMs - failing.sinceMs < UNWRITABLE_AFTER_MS || nowMs - failing.lastMs > TRIED_AGAIN_AFTER_MS
    },
  }
}
