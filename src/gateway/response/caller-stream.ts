import type { ServerResponse } from 'node:http'
import { SLOW_READER_MS, SLOW_READER_TOTAL_MS, UNREAD_CHARACTERS_MAX } from '../../rules/limits.ts'

/**
 * Writes to a caller at the caller's own pace, and keeps what it has not read yet, up to a limit. A caller that takes a
 * break therefore does not hold up the provider: what the model writes meanwhile is read, counted and paid for.
 */
export interface CallerStream {
  add(text: string): void
  /** Undefined unless too much waits for the caller; then it resolves when there is room again, or the caller is gone. */
  room(): Promise<void> | undefined
  /** Resolves when the last of it has left, or the caller is gone. */
  end(text: string): Promise<void>
}

export interface CallerStreamOptions {
  slowReaderMs?: number
  /** Told when so much waits that nothing more is taken from the provider, and when there is room again. A caller that leaves
   * meanwhile has stalled to the end. */
  onStall?(isStalled: boolean): void
  /** Told of a caller that is cut off because it reads too slowly. */
  onSlowReader?(): void
}

/** Small enough that a slow caller shows its progress, large enough that a write is cheap. */
const SLICE_CHARACTERS = 64 * 1024

export function createCallerStream(res: ServerResponse, options: CallerStreamOptions): CallerStream {
  const { slowReaderMs = SLOW_READER_MS, onStall, onSlowReader } = options
  const gone = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  let waiting = ''
  let isEnding = false
  let isBlocked = false
  let brokeOffAtMs = 0
  let breaksMs = 0
  let timer: NodeJS.Timeout | undefined
  let roomMade: (() => void) | undefined

  /** Events that are ready in the same turn of the event loop leave in one packet: a system call for each would cost
   * more than all the rest of a chunk's way through the gateway. */
  function flush(): void {
    while (waiting !== '' && !isBlocked && !res.destroyed) {
      const isReady = res.write(waiting.slice(0, SLICE_CHARACTERS))
      waiting = waiting.slice(SLICE_CHARACTERS)
      if (!isReady) startBreak()
    }
    if (waiting.length <= UNREAD_CHARACTERS_MAX) roomMade?.()
    if (waiting === '' && isEnding && !isBlocked && !res.writableEnded) res.end(() => ended.resolve())
  }

  function startBreak(): void {
    isBlocked = true
    brokeOffAtMs = performance.now()
    timer = setTimeout(
      () => {
        onSlowReader?.()
        res.destroy()
      },
      Math.min(slowReaderMs, SLOW_READER_TOTAL_MS - breaksMs),
    )
  }

  res.on('drain', () => {
    clearTimeout(timer)
    breaksMs += performance.now() - brokeOffAtMs
    isBlocked = false
    flush()
  })
  res.once('close', () => {
    clearTimeout(timer)
    waiting = ''
    roomMade = undefined
    gone.resolve()
  })

  return {
    add(text) {
      if (res.destroyed) return
      if (waiting === '') process.nextTick(flush)
      waiting += text
    },
    room() {
      if (waiting.length <= UNREAD_CHARACTERS_MAX) return undefined
      const made = Promise.withResolvers<void>()
      roomMade = made.resolve
      onStall?.(true)
      return Promise.race([made.promise.then(() => onStall?.(false)), gone.promise])
    },
    end(text) {
      waiting += text
      isEnding = true
      flush()
      return res.destroyed ? Promise.resolve() : Promise.race([ended.promise, gone.promise])
    },
  }
}
