import { HungUp } from '../../src/gateway/call.ts'
import { SLOW_READER_MS } from '../../src/rules/limits.ts'
import type { CallRecord } from './call-record.ts'
import type { Clock } from './clock.ts'

/** The caller at the other end of the connection, and what the server makes of its pace and of its leaving. */
export interface Reader {
  /** Resolves when the next chunk may be asked for. Throws when the caller is gone, or as good as gone. */
  readOn(): Promise<void>
}

export function createReader(clock: Clock, record: CallRecord, abort: AbortController): Reader {
  const { plan } = record
  // A call with an idempotency key runs to its end although nobody listens.
  const outlivesCaller = plan.key !== undefined
  let isGone = false
  let stopReading: (() => void) | undefined

  function hangUp(): void {
    if (isGone || record.end) return
    isGone = true
    if (!outlivesCaller) {
      record.abortedBy ??= 'caller'
      abort.abort(new HungUp('caller closed the connection'))
    }
    stopReading?.()
  }

  if (plan.hangsUpAfterMs !== undefined) clock.schedule(clock.current, plan.hangsUpAfterMs, 'arrival', hangUp)

  return {
    async readOn() {
      const readingMs = plan.isStreamed && !isGone ? plan.readingMs() : 0
      if (readingMs === 0) return
      await new Promise<void>((resolve) => {
        stopReading = resolve
        clock.schedule(clock.current, readingMs, 'arrival', resolve)
        clock.schedule(clock.current, SLOW_READER_MS, 'timer', () => stopReading === resolve && hangUp())
      })
      stopReading = undefined
      if (!isGone || outlivesCaller) return
      // Later than that, the answer is complete or was cut, whatever its reader does.
      record.hasLeft = record.attempts.at(-1)?.end === undefined
      throw new HungUp('closed while data waited')
    },
  }
}
