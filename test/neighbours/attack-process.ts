/**
 * Runs one attack in a process of its own, which steps back where others want the processor: a real attacker has a machine
 * of its own, and what it costs to attack must not be taken for what it costs to be attacked.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import type { Reaper } from '../chaos/reaper.ts'
import { ATTACKERS, type Orders } from './attackers.ts'
import { createCaller } from './exchange.ts'

export interface RunningAttack {
  /** Ends it, and tells how its requests ended. */
  stop(): Promise<Record<string, number>>
}

type Message = { underWay: true } | { tally: Record<string, number> }

const ADDRESS = '127.0.0.66'

/** Resolves when the attack is under way. */
export async function startAttack(orders: Orders, reaper: Reaper): Promise<RunningAttack> {
  const child = fork(import.meta.filename, { stdio: 'inherit' })
  if (child.pid !== undefined) reaper.watch(child.pid)
  const failed = once(child, 'exit').then(() => {
    throw new Error(`the attacker "${orders.attack}" ended by itself`)
  })
  failed.catch(() => {})
  child.send(orders)
  await Promise.race([once(child, 'message'), failed])
  return {
    async stop() {
      child.send('stop')
      const [message] = (await Promise.race([once(child, 'message'), failed])) as [Message]
      child.kill('SIGKILL')
      return 'tally' in message ? message.tally : {}
    },
  }
}

async function attack(orders: Orders): Promise<void> {
  const stopping = new AbortController()
  const tally: Record<string, number> = {}
  const caller = createCaller(ADDRESS)
  process.once('message', () => stopping.abort())
  await ATTACKERS[orders.attack]?.({
    ...orders,
    caller,
    address: ADDRESS,
    signal: stopping.signal,
    note: (ending, times = 1) => (tally[ending] = (tally[ending] ?? 0) + times),
    underWay: () => process.send?.({ underWay: true } satisfies Message),
  })
  process.send?.({ tally } satisfies Message)
}

if (import.meta.main) {
  setPriority(constants.priority.PRIORITY_LOW)
  process.once('message', (orders) => void attack(orders as Orders))
}
