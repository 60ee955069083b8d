import { HungUp } from '../call.ts'

/** The signal that the provider of a call listens to. */
export interface UpstreamSignal {
  readonly signal: AbortSignal
  /** When the call is over. */
  release(): void
}

/**
 * A caller that hangs up cancels its call at the provider at once, unless what it has caused there cannot be known yet:
 * then the answer is read on for a while, so that it can be charged exactly. `readOnMs` is asked when the caller is gone.
 */
export function upstreamSignalOf(caller: AbortSignal, readOnMs: () => number): UpstreamSignal {
  const cancel = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const onAbort = () => {
    const waitMs = caller.reason instanceof HungUp ? readOnMs() : 0
    if (waitMs === 0) cancel.abort(caller.reason)
    else timer = setTimeout(() => cancel.abort(caller.reason), waitMs)
  }
  caller.addEventListener('abort', onAbort, { once: true })
  if (caller.aborted) onAbort()
  return {
    signal: cancel.signal,
    release() {
      clearTimeout(timer)
      caller.removeEventListener('abort', onAbort)
    },
  }
}
