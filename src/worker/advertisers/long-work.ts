import { setTimeout as sleep } from 'node:timers/promises'
import { SECOND_MS } from '../../rules/durations.ts'

/** Short work is done by then; the job goes on beside the rest, and says that it is well. */
const WAIT_MS = 5 * SECOND_MS

/**
 * Work of a job that may take many minutes, so much of it at once, and one of each advertiser: whose server is slow, or whose
 * file is large, waits for nobody but themselves.
 */
export interface LongWork {
  /** How much more may begin now. */
  room(): number
  /** The advertisers whose work is running. */
  busy(): string[]
  begin(advertiserId: string, work: () => Promise<void>): void
  /** Throws what failed since it was asked last. */
  watch(): Promise<void>
}

export function createLongWork(atOnce: number): LongWork {
  const running = new Map<string, Promise<void>>()
  const failures: unknown[] = []
  return {
    room: () => atOnce - running.size,
    busy: () => [...running.keys()],
    begin(advertiserId, work) {
      const one = work()
        .catch((error: unknown) => void failures.push(error))
        .finally(() => running.delete(advertiserId))
      running.set(advertiserId, one)
    },
    async watch() {
      const waiting = new AbortController()
      const shortly = sleep(WAIT_MS, undefined, { signal: waiting.signal }).catch(() => {})
      await Promise.race([Promise.all(running.values()), shortly])
      waiting.abort()
      const told = failures.splice(0)
      if (told.length > 0) throw told[0]
    },
  }
}
