import { HungUp, type CallProgress } from '../../src/gateway/call.ts'
import { SLOW_READER_MS } from '../../src/rules/limits.ts'
import type { CallRecord } from './call-record.ts'
import type { Clock } from './clock.ts'

/** The caller at the other end of the connection, and what the server makes of its pace and of its leaving. */
export interface Reader {
  /** Resolves when the next chunk may be asked for: the caller has read on, or is gone. */
  readOn(): Promise<void>
}

export function createReader(clock: Clock, record: CallRecord, progress: CallProgress, abort: AbortController): Reader {
  const { plan } = record
  /** The break that the caller takes now, and what has come since. */
  let pause: { unread: number } | undefined
  // A call with an idempotency key runs to its end although nobody listens.
  const outlivesCaller = plan.key !== undefined
  let isGone = false
  let stopReading: (() => void) | undefined

  function hangUp(): void {
    if (isGone || record.end) return
    isGone = true
    if (!outlivesCaller) {
      record.abortedBy ??= 'caller'
      record.wasRunningWhenLeft = record.attempts.some(({ end }) => end === undefined)
      abort.abort(new HungUp('caller closed the connection'))
    }
    stopReading?.()
  }

  if (plan.hangsUpAfterMs !== undefined) clock.schedule(clock.current, plan.hangsUpAfterMs, 'arrival', hangUp)

  function startBreak(ms: number): void {
    const started = { unread: 0 }
    pause = started
    clock.schedule(clock.current, ms, 'arrival', () => {
      pause = undefined
      stopReading?.()
    })
    clock.schedule(clock.current, SLOW_READER_MS, 'timer', () => pause === started && hangUp())
  }

  return {
    async readOn() {
      if (isGone || !plan.isStreamed) return
      const ms = pause ? 0 : plan.readingMs()
      if (ms > 0) startBreak(ms)
      if (!pause || ++pause.unread <= plan.unreadMax) return
      progress.isStalled = true
      await new Promise<void>((resolve) => (stopReading = resolve))
      stopReading = undefined
      progress.isStalled = false
    },
  }
}
