/** One process of the system, started for real, that can be killed and paused and comes back. */
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROOT } from '../support/commands.ts'
import type { Reaper } from './reaper.ts'

export interface ServiceOptions {
  name: string
  command: string
  args: readonly string[]
  env: Record<string, string>
  logDir: string
  /** Matches the line that it prints once it listens; the first group is its URL. */
  listening: RegExp
  onListening(url: URL): void
  reaper: Reaper
}

export type ServiceState = 'down' | 'starting' | 'up' | 'paused'

export interface Service {
  readonly name: string
  readonly state: ServiceState
  /** Undefined while it is down. */
  readonly pid: number | undefined
  /** Its output, once for each time that it ended without having been killed. */
  readonly crashes: readonly string[]
  /** Starts it, unless it runs, and resolves when it listens or has been killed. */
  start(): Promise<void>
  /** kill -9. It stays down until `start`. */
  kill(): void
  pause(): void
  resume(): void
}

const LISTENS_WITHIN_MS = 30_000
const POLL_MS = 20
const BACK_AFTER_CRASH_MS = 200
const CRASH_CHARACTERS_MAX = 3_000

export function createService(options: ServiceOptions): Service {
  let child: ChildProcess | undefined
  let state: ServiceState = 'down'
  const crashes: string[] = []
  let starts = 0
  let comeback: NodeJS.Timeout | undefined

  function spawnChild(logPath: string): ChildProcess {
    // Straight into a file: a pipe that this busy process does not read in time would stall what it observes.
    const log = openSync(logPath, 'w')
    const started = launch(options, log)
    closeSync(log)
    if (started.pid === undefined) throw new Error(`${options.name} cannot be started`)
    options.reaper.watch(started.pid)
    started.once('exit', (code, signal) => {
      if (child !== started) return
      child = undefined
      state = 'down'
      crashes.push(`${options.name} ended by itself (${signal ?? code}): ${tailOf(logPath)}`)
      comeback = setTimeout(() => void start(), BACK_AFTER_CRASH_MS)
    })
    return started
  }

  async function start(): Promise<void> {
    if (child) return
    const logPath = join(options.logDir, `${options.name}.${++starts}.log`)
    const started = (child = spawnChild(logPath))
    state = 'starting'
    const deadline = performance.now() + LISTENS_WITHIN_MS
    while (child === started) {
      const url = options.listening.exec(readFileSync(logPath, 'utf8'))?.[1]
      if (url !== undefined) {
        options.onListening(new URL(url))
        state = 'up'
        return
      }
      if (performance.now() > deadline)
        throw new Error(`${options.name} does not listen:\n${readFileSync(logPath, 'utf8')}`)
      await sleep(POLL_MS)
    }
  }

  return {
    name: options.name,
    get state() {
      return state
    },
    get pid() {
      return child?.pid
    },
    crashes,
    start,
    kill() {
      clearTimeout(comeback)
      const killed = child
      child = undefined
      state = 'down'
      killed?.kill('SIGKILL')
    },
    pause() {
      if (state === 'up' && child?.kill('SIGSTOP')) state = 'paused'
    },
    resume() {
      if (state === 'paused' && child?.kill('SIGCONT')) state = 'up'
    },
  }
}

function launch({ command, args, env }: ServiceOptions, log: number): ChildProcess {
  const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`
  const whole = { PATH: path, HOME: process.env.HOME ?? '/', ...env }
  return spawn(command, args, { cwd: ROOT, env: whole, stdio: ['ignore', log, log] })
}

function tailOf(path: string): string {
  return readFileSync(path, 'utf8').slice(-CRASH_CHARACTERS_MAX)
}
