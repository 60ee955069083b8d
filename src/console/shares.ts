import { setTimeout as sleep } from 'node:timers/promises'
import { createFairQueue, QueueFull, type FairQueue } from '../platform/fair-queue.ts'
import type { Metrics } from '../metrics.ts'
import { networkOf } from '../rules/accounts/addresses.ts'
import { ParleyError } from '../rules/errors.ts'

/**
 * Limits how much of the console one person may have at once. Their requests run a few at a time and the rest wait in a line
 * of their own, so that people who send many wait for themselves and leave connections of the store to everybody else. Before
 * it is known who they are, the same holds for the network that they come from.
 */
export interface Shares {
  /**
   * Takes a place of what is in flight with this cookie, before anything is looked up for it: to refuse must cost next to
   * nothing. Rejects only after a moment: a script that asks again at once would keep the process busy with refusals.
   * Returns how to leave.
   */
  enter(cookie: string): Promise<() => void>
  ofUser<T>(userId: string, work: () => Promise<T>): Promise<T>
  ofNetwork<T>(address: string, work: () => Promise<T>): Promise<T>
  /** Takes one of the places for what lasts long and asks the store only now and then: exports, chats. Returns how to leave. */
  enterLong(userId: string): () => void
}

/** Together about as many as the store has connections for the console: what waits, waits here and in turn. */
const USERS = { runningMax: 7, runningEachMax: 3, waitingMax: 512, waitingEachMax: 32 }
const IN_FLIGHT_EACH_MAX = USERS.runningEachMax + USERS.waitingEachMax
/** Far more in line than of a person: an office may share one address, and to find a session takes a moment. */
const NETWORKS = { runningMax: 6, runningEachMax: 4, waitingMax: 512, waitingEachMax: 128 }
const LONG_EACH_MAX = 10
const WAIT_MS = 5_000
const REFUSED_AFTER_MS = 500

export function createShares(metrics: Metrics): Shares {
  const users = createFairQueue(USERS)
  const networks = createFairQueue(NETWORKS)
  const inFlight = createPlaces(IN_FLIGHT_EACH_MAX)
  const long = createPlaces(LONG_EACH_MAX)

  function decline(share: string): ParleyError {
    metrics.consoleDeclined.inc({ share })
    return new ParleyError('too_many_at_once', { retryAfterSeconds: 1 })
  }

  async function inTurn<T>(queue: FairQueue, share: string, key: string, work: () => Promise<T>): Promise<T> {
    try {
      const done = queue.run(key, WAIT_MS, async () => ({ result: await work() }))
      metrics.consoleWaiting.set({ share }, queue.waiting)
      const turn = await done
      if (turn !== 'late') return turn.result
    } catch (error) {
      if (!(error instanceof QueueFull)) throw error
    }
    // A person with nothing running waits for others, and cannot do anything about it.
    throw queue.isAtLimit(key) ? decline(share) : new ParleyError('overloaded', { retryAfterSeconds: 2 })
  }

  return {
    ofUser: (userId, work) => inTurn(users, 'user', userId, work),
    ofNetwork: (address, work) => inTurn(networks, 'network', networkOf(address), work),
    async enter(cookie) {
      if (!inFlight.take(cookie)) {
        await sleep(REFUSED_AFTER_MS)
        throw decline('user')
      }
      return () => inFlight.leave(cookie)
    },
    enterLong(userId) {
      if (!long.take(userId)) throw decline('user')
      return () => long.leave(userId)
    },
  }
}

/** So many of each key, and no memory of those that have none. */
function createPlaces(eachMax: number) {
  const taken = new Map<string, number>()
  return {
    take(key: string): boolean {
      const after = (taken.get(key) ?? 0) + 1
      if (after > eachMax) return false
      taken.set(key, after)
      return true
    },
    leave(key: string): void {
      const left = (taken.get(key) ?? 0) - 1
      if (left > 0) taken.set(key, left)
      else taken.delete(key)
    },
  }
}
