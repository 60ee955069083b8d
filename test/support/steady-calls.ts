import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { chatBody, complete, type World } from './world.ts'

const CALL_EVERY_MS = 25
const LOOK_EVERY_MS = 5

export interface SteadyCalls {
  /** How many have been answered so far. */
  readonly answered: number
  stop(): Promise<{ calls: number; failed: string[]; longestMs: number; longestLockWaitMs: number }>
}

/**
 * Calls through the gateway at a steady rate, and how long the longest of the ledger's statements waited for a lock on a table
 * meanwhile. That, and not the time of a call, is what a busy machine does not add to.
 */
export async function startSteadyCalls(world: World): Promise<SteadyCalls> {
  const watcher = new Client({ connectionString: world.env.DATABASE_URL, application_name: 'lock watcher' })
  await watcher.connect()
  const failed: string[] = []
  const open = new Set<Promise<void>>()
  let calls = 0
  let answered = 0
  let longestMs = 0
  let longestLockWaitMs = 0
  let isOver = false

  async function call(): Promise<void> {
    const startedMs = performance.now()
    const response = await complete(world, chatBody('tokens=2'))
    const text = await response.text()
    if (!response.ok) failed.push(`${response.status} ${text}`)
    longestMs = Math.max(longestMs, performance.now() - startedMs)
    answered += 1
  }
  async function callAgainAndAgain(): Promise<void> {
    while (!isOver) {
      calls += 1
      const running = call().catch((error: unknown) => void failed.push(String(error)))
      open.add(running)
      void running.then(() => open.delete(running))
      await sleep(CALL_EVERY_MS)
    }
  }
  async function lookAgainAndAgain(): Promise<void> {
    while (!isOver) {
      const { rows } = await watcher.query<{ ms: number }>(
        `select coalesce(max(extract(epoch from clock_timestamp() - l.waitstart) * 1000), 0)::float8 as ms
         from pg_locks l join pg_stat_activity a on a.pid = l.pid
         where not l.granted and l.locktype = 'relation' and a.application_name like 'parley gateway%'
           and a.datname = current_database()`,
      )
      longestLockWaitMs = Math.max(longestLockWaitMs, rows[0]?.ms ?? 0)
      await sleep(LOOK_EVERY_MS)
    }
  }
  const loops = [callAgainAndAgain(), lookAgainAndAgain()]
  return {
    get answered() {
      return answered
    },
    async stop() {
      isOver = true
      await Promise.all(loops)
      await Promise.all(open)
      await watcher.end()
      return { calls, failed, longestMs, longestLockWaitMs }
    },
  }
}
