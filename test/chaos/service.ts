/** One process of the system, started for real, that can be killed and paused and comes back. */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROOT } from '../support/commands.ts'
import type { Reaper } from './reaper.ts'

export interface ServiceOptions {
  name: string
  command: string
  args: readonly string[]
  env: Record<string, string>
  logPath: string
  /** What it prints when it listens; the first group is where. */
  listening: RegExp
  onListening(url: URL): void
  reaper: Reaper
}

export type ServiceState = 'down' | 'starting' | 'up' | 'paused'

export interface Service {
  readonly name: string
  readonly state: ServiceState
  readonly logPath: string
  /** How often it ended although nobody had killed it. */
  readonly crashes: number
  /** Starts it, and resolves when it listens. */
  start(): Promise<void>
  /** kill -9. It stays down until `start`. */
  kill(): void
  pause(): void
  resume(): void
}

const LISTENS_WITHIN_MS = 30_000
const POLL_MS = 20

export function createService(options: ServiceOptions): Service {
  let child: ChildProcess | undefined
  let state: ServiceState = 'down'
  let crashes = 0

  function spawnChild(): ChildProcess {
    // Straight into a file: a pipe that this busy process does not read in time would stall what it observes.
    const log = openSync(options.logPath, 'a')
    const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`
    const started = spawn(options.command, options.args, {
      cwd: ROOT,
      env: { PATH: path, HOME: process.env.HOME ?? '/', ...options.env },
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    if (started.pid === undefined) throw new Error(`${options.name} cannot be started`)
    options.reaper.watch(started.pid)
    started.once('exit', () => {
      if (child !== started) return
      child = undefined
      state = 'down'
      crashes += 1
    })
    return started
  }

  async function untilListening(started: ChildProcess, from: number): Promise<URL | undefined> {
    const deadline = performance.now() + LISTENS_WITHIN_MS
    while (performance.now() < deadline) {
      if (child !== started) return undefined
      const url = options.listening.exec(readFileSync(options.logPath, 'utf8').slice(from))?.[1]
      if (url !== undefined) return new URL(url)
      await sleep(POLL_MS)
    }
    throw new Error(`${options.name} did not listen within ${LISTENS_WITHIN_MS} ms: see ${options.logPath}`)
  }

  return {
    name: options.name,
    get state() {
      return state
    },
    logPath: options.logPath,
    get crashes() {
      return crashes
    },
    async start() {
      if (child) return
      const from = lengthOf(options.logPath)
      const started = (child = spawnChild())
      state = 'starting'
      const url = await untilListening(started, from)
      // Killed, or paused, while it was starting.
      if (!url || child !== started) return
      options.onListening(url)
      if (state === 'starting') state = 'up'
    },
    kill() {
      const killed = child
      child = undefined
      state = 'down'
      killed?.kill('SIGKILL')
    },
    pause() {
      if (child?.kill('SIGSTOP')) state = 'paused'
    },
    resume() {
      if (child?.kill('SIGCONT') && state === 'paused') state = 'up'
    },
  }
}

function lengthOf(path: string): number {
  try {
    return readFileSync(path, 'utf8').length
  } catch {
    return 0
  }
}
