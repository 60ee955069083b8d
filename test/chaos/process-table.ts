/** Processes by identity, not by number alone: a number that was freed may belong to a stranger a second later. */
import { readFileSync, readdirSync } from 'node:fs'

export interface ProcessIdentity {
  readonly pid: number
  /** In clock ticks since boot. */
  readonly startedAt: string
}

interface Entry extends ProcessIdentity {
  parent: number
}

/** Undefined: there is no such process, or it has ended and nobody has taken notice yet. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const entry = entryOf(pid)
  return entry && { pid, startedAt: entry.startedAt }
}

export function childrenOf(parent: ProcessIdentity): ProcessIdentity[] {
  if (!isAlive(parent)) return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => entryOf(Number(name)) ?? [])
    .filter((entry) => entry.parent === parent.pid)
    .map(({ pid, startedAt }) => ({ pid, startedAt }))
}

export function isAlive({ pid, startedAt }: ProcessIdentity): boolean {
  return entryOf(pid)?.startedAt === startedAt
}

export function signal(processes: readonly ProcessIdentity[], name: NodeJS.Signals): void {
  for (const one of processes) {
    try {
      if (isAlive(one)) process.kill(one.pid, name)
    } catch {
      // It ended between the look and the signal.
    }
  }
}

function entryOf(pid: number): Entry | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // The name in parentheses may itself contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, parent, startedAt] = [fields[0], fields[1], fields[19]]
  return state === 'Z' || startedAt === undefined ? undefined : { pid, parent: Number(parent), startedAt }
}
