/** A private PostgreSQL that keeps its promises (fsync is on), and that can be killed, paused and recovered. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findOrStartPostgres, type PostgresServer } from '../../scripts/postgres.ts'
import { childrenOf, identityOf, isAlive, signal, type ProcessIdentity } from './process-table.ts'
import type { Reaper } from './reaper.ts'
import type { ServiceState } from './service.ts'

export interface KillablePostgres {
  readonly port: number
  readonly adminUrl: string
  readonly state: ServiceState
  /** Starts it, recovers what a kill left, and resolves when it answers. */
  start(): Promise<void>
  /** kill -9 of all its processes at once. Resolves when they are gone. */
  kill(): Promise<void>
  pause(): void
  resume(): void
}

export async function startPostgres(dataDir: string, reaper: Reaper): Promise<KillablePostgres> {
  let server: PostgresServer
  let port: number | undefined
  let postmaster: ProcessIdentity | undefined
  let state: ServiceState = 'down'

  async function start(): Promise<void> {
    state = 'starting'
    server = await findOrStartPostgres({ dataDir, alwaysPrivate: true, ...(port === undefined ? {} : { port }) })
    port = Number(new URL(server.url).port)
    const pid = Number((await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n', 1)[0])
    postmaster = identityOf(pid)
    reaper.watch(pid)
    state = 'up'
  }

  /** The postmaster first: it must not see its children go and begin a recovery of its own. */
  function family(): ProcessIdentity[] {
    return postmaster ? [postmaster, ...childrenOf(postmaster)] : []
  }

  await start()
  return {
    get port() {
      return port ?? 0
    },
    get adminUrl() {
      return server.url
    },
    get state() {
      return state
    },
    start,
    async kill() {
      const killed = family()
      state = 'down'
      signal(killed, 'SIGKILL')
      // A process that still has the shared memory would keep its successor from starting.
      while (killed.some(isAlive)) await sleep(10)
      await server.stop()
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
