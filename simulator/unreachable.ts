/** Addresses at which no upstream answers. */
import { createServer, connect } from 'node:net'
import type { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'

/**
 * A port of 127.0.0.1 that refuses connections. It lies below the range from which the system picks ports for clients:
 * there nobody takes it by chance, and a client cannot be given it as its own port and so connect to itself.
 */
export async function refusedPort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    if (await isFree(port)) return port
  }
  throw new Error('no free port between 20000 and 32000')
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host: '127.0.0.1' }, () => probe.close(() => resolve(true)))
  })
}

export interface BlackHole {
  readonly port: number
  close(): Promise<void>
}

const LISTENS_WITHIN_MS = 5000
const BACKLOG_PROBES_MAX = 16
const HANGS_AFTER_MS = 100

/**
 * A port of 127.0.0.1 to which connecting neither succeeds nor fails. A thread listens and then sleeps, so that nothing
 * is ever accepted; once its queue is full, Linux drops the packets of whoever else connects, as a firewall would.
 */
export async function createBlackHole(): Promise<BlackHole> {
  // The thread writes its port into the first cell and sleeps until the second changes.
  const shared = new Int32Array(new SharedArrayBuffer(8))
  const worker = new Worker(new URL('./unreachable-listener.ts', import.meta.url), { workerData: shared })
  await Atomics.waitAsync(shared, 0, 0, LISTENS_WITHIN_MS).value
  const port = Atomics.load(shared, 0)
  const waiting: Socket[] = []

  async function close(): Promise<void> {
    for (const socket of waiting) socket.destroy()
    const exited = new Promise((resolve) => worker.once('exit', resolve))
    Atomics.store(shared, 1, 1)
    Atomics.notify(shared, 1)
    await exited
  }

  for (let probe = 0; probe < BACKLOG_PROBES_MAX; probe++) {
    const socket = connect({ port, host: '127.0.0.1' })
    waiting.push(socket)
    if (await hangs(socket)) return { port, close }
  }
  await close()
  throw new Error(`this system queues more than ${BACKLOG_PROBES_MAX} connections`)
}

function hangs(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, HANGS_AFTER_MS, true)
    socket.once('connect', () => {
      clearTimeout(timer)
      resolve(false)
    })
    // Ends with the black hole; nobody is left to care how.
    socket.on('error', () => {})
  })
}
