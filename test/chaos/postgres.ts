/** A private PostgreSQL that keeps its promises (fsync is on), and that can be killed, paused and recovered. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { findOrStartPostgres, type PostgresServer } from '../../scripts/postgres.ts'
import { childrenOf, identityOf, isAlive, signal, type ProcessIdentity } from './process-table.ts'
import type { Reaper } from './reaper.ts'

export type PostgresState = 'down' | 'starting' | 'up' | 'paused'

export interface KillablePostgres {
  readonly port: number
  readonly adminUrl: string
  readonly state: PostgresState
  /** Starts it, recovers what a kill left, and resolves when it answers. */
  start(): Promise<void>
  /** kill -9 of all its processes at once, as a power cut would. Resolves when they are gone. */
  kill(): Promise<void>
  pause(): void
  resume(): void
}

const SETTINGS = { max_connections: '100' }

export async function createPostgres(dataDir: string, reaper: Reaper): Promise<KillablePostgres> {
  const port = await freePort()
  let server: PostgresServer | undefined
  let postmaster: ProcessIdentity | undefined
  let state: PostgresState = 'down'

  /** The postmaster first: it must not see its children go and begin a recovery of its own. */
  function family(): ProcessIdentity[] {
    return postmaster ? [postmaster, ...childrenOf(postmaster)] : []
  }

  return {
    port,
    adminUrl: `postgres://postgres@127.0.0.1:${port}/postgres`,
    get state() {
      return state
    },
    async start() {
      state = 'starting'
      server = await findOrStartPostgres({ dataDir, port, alwaysPrivate: true, settings: SETTINGS })
      const pid = Number((await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n', 1)[0])
      postmaster = identityOf(pid)
      reaper.watch(pid)
      state = 'up'
    },
    async kill() {
      const killed = family()
      state = 'down'
      signal(killed, 'SIGKILL')
      // A process that still has the shared memory would keep its successor from starting.
      while (killed.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 10))
      await server?.stop()
    },
    pause() {
      if (state !== 'up') return
      signal(family(), 'SIGSTOP')
      state = 'paused'
    },
    resume() {
      if (state !== 'paused') return
      signal(family(), 'SIGCONT')
      state = 'up'
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
