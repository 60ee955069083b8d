/**
 * Loaded into the gateway's process by the run (`node --import`): says how much memory is really in use, when asked. No part of
 * the product knows of it.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

export interface Sample {
  /** The heap that is left after a garbage collection. */
  heapBytes: number
  residentBytes: number
  /** But for connections to the database: each pool of them has its own bound, and the worker's jobs use what they need. */
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
  const descriptors = readdirSync('/proc/self/fd').length - databaseConnections()
  process.send?.({ heapBytes: heapUsed, residentBytes: rss, descriptors, lagMs } satisfies Sample)
  delay.reset()
})

/** By the port that they lead to, as the kernel lists them: local address, remote address, 01 for an open one, …, inode. */
function databaseConnections(): number {
  const port = Number(new URL(process.env.DATABASE_URL ?? '').port)
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const mine = new Set(readdirSync('/proc/self/fd').map(linkOf))
  const connections = readFileSync('/proc/self/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/ +/))
  return connections.filter(
    ([, , remote = '', state, , , , , , inode]) =>
      remote.endsWith(end) && state === '01' && mine.has(`socket:[${inode}]`),
  ).length
}

/** The one that lists them is closed by then. */
function linkOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`)
  } catch {
    return ''
  }
}
