/**
 * Loaded into the gateway's process by the run (`node --import`): says how much memory is really in use, when asked. No part of
 * the product knows of it.
 */
import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

export interface Sample {
  /** What a collection of garbage has left. */
  heapBytes: number
  residentBytes: number
  descriptors: number
  /** The longest that the event loop was held up since the last sample, without what this one takes. */
  lagMs: number
}

const delay = monitorEventLoopDelay({ resolution: 10 })
delay.enable()

process.on('message', (message) => {
  if (message !== 'sample') return
  const lagMs = delay.max / 1e6
  // Twice: the first one runs finalizers, which let go of more.
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  const descriptors = readdirSync('/proc/self/fd').length
  process.send?.({ heapBytes: heapUsed, residentBytes: rss, descriptors, lagMs } satisfies Sample)
  delay.reset()
})
