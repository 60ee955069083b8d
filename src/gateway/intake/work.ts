import { setImmediate as nextRound } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { rateOf, spend, waitUntilPaid, type Bucket } from '../../rules/calls/token-bucket.ts'

/**
 * The time that a process takes to read requests: to parse them, to check them, and to count their tokens, all before a
 * wallet is asked. One account can cause so much of it a second and no more, however many projects it has. What takes
 * long is done for one call at a time, account after account and in small steps, between which other work gets a turn. After each
 * call the process rests from such work for as long as it took: all other calls have at least half of its time, and wait for
 * one step at most.
 */
export interface Work {
  /** How long until an account may cause more work, in milliseconds. */
  waitOf(publisherId: string): number
  /** Little work, done at once. */
  run<T>(publisherId: string, doing: () => T): T
  /** Much work, when it is this account's turn. */
  runInTurn<T>(publisherId: string, doing: (giveWay: () => Promise<void>) => Promise<T>): Promise<T>
}

export interface WorkOptions {
  /** The share of the process's time that one account may cause. */
  accountPercent: number
  /** Monotonic. */
  now?(): number
  /** The time that this thread has worked so far, in milliseconds. */
  workedMs?(): number
  restFor?(ms: number, then: () => void): void
  rememberedMax?: number
}

const REMEMBERED_MAX = 50_000

export function createWork(options: WorkOptions): Work {
  const { now = () => performance.now(), workedMs = threadMs, restFor = restInBackground } = options
  const rate = rateOf((options.accountPercent / 100) * 1_000)
  const spent = new LRUCache<string, Bucket>({ max: options.rememberedMax ?? REMEMBERED_MAX })
  const queue = createQueue()

  function charge(publisherId: string, ms: number): void {
    spent.set(publisherId, spend(spent.get(publisherId), rate, ms, now()))
  }

  return {
    waitOf: (publisherId) => waitUntilPaid(spent.get(publisherId), rate, now()),
    run(publisherId, doing) {
      const sinceMs = workedMs()
      try {
        return doing()
      } finally {
        charge(publisherId, workedMs() - sinceMs)
      }
    },
    async runInTurn(publisherId, doing) {
      await queue.enter(publisherId)
      let totalMs = 0
      let sinceMs = workedMs()
      const giveWay = async () => {
        totalMs += workedMs() - sinceMs
        await nextRound()
        sinceMs = workedMs()
      }
      try {
        return await doing(giveWay)
      } finally {
        totalMs += workedMs() - sinceMs
        charge(publisherId, totalMs)
        restFor(totalMs, queue.callNext)
      }
    },
  }
}

/** One at a time, account after account. */
function createQueue() {
  /** By account, in the order of their turns. */
  const waiting = new Map<string, (() => void)[]>()
  let isBusy = false
  return {
    async enter(publisherId: string): Promise<void> {
      if (!isBusy) {
        isBusy = true
        return
      }
      await new Promise<void>((resolve) => {
        const ofAccount = waiting.get(publisherId)
        if (ofAccount) ofAccount.push(resolve)
        else waiting.set(publisherId, [resolve])
      })
    },
    callNext(): void {
      const [next] = waiting
      if (!next) {
        isBusy = false
        return
      }
      const [publisherId, ofAccount] = next
      waiting.delete(publisherId)
      const begin = ofAccount.shift()
      if (ofAccount.length > 0) waiting.set(publisherId, ofAccount)
      begin?.()
    },
  }
}

/** Not the time that passes: on a busy machine, that says more of its neighbours. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

function restInBackground(ms: number, then: () => void): void {
  setTimeout(then, ms)
}
