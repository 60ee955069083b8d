/**
 * Ends what a chaos run has started, however the run itself ended: by a result, Ctrl-C, a crash or kill -9. The run
 * tells it on stdin of each process it starts; when that pipe closes, for whatever reason, this clears up.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { childrenOf, identityOf, isAlive, signal, type ProcessIdentity } from './process-table.ts'

export interface Reaper {
  watch(pid: number): void
  /** Resolves when everything that was watched is gone, and the folder too. */
  finish(): Promise<void>
}

const GONE_WITHIN_MS = 5_000

export function startReaper(dir: string): Reaper {
  // A group of its own, and deaf to signals: Ctrl-C must not end it together with the run.
  const child = spawn(process.execPath, [import.meta.filename, dir], {
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  child.unref()
  child.stdin.on('error', () => undefined)
  return {
    watch: (pid) => void child.stdin.write(`${pid}\n`),
    async finish() {
      child.ref()
      const gone = once(child, 'exit')
      child.stdin.end()
      await gone
    },
  }
}

async function reap(dir: string): Promise<void> {
  const watched: ProcessIdentity[] = []
  for await (const line of createInterface({ input: process.stdin })) {
    const identity = identityOf(Number(line))
    if (identity) watched.push(identity)
  }
  // PostgreSQL's children are in groups of their own; they are found only while their parent lives.
  const all = [...watched, ...postmasterIn(dir)].flatMap((one) => [one, ...childrenOf(one)])
  signal(all, 'SIGKILL')
  const deadline = performance.now() + GONE_WITHIN_MS
  while (all.some(isAlive) && performance.now() < deadline) await sleep(20)
  await rm(dir, { recursive: true, force: true })
}

/** A run that dies while PostgreSQL starts has not told its number yet. */
function postmasterIn(dir: string): ProcessIdentity[] {
  try {
    const pid = Number(readFileSync(join(dir, 'postgres/postmaster.pid'), 'utf8').split('\n', 1)[0])
    const isOurs = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(dir)
    const identity = isOurs ? identityOf(pid) : undefined
    return identity ? [identity] : []
  } catch {
    return []
  }
}

if (import.meta.main) {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined)
  await reap(String(process.argv[2]))
}
