import { setImmediate as nextRound } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { rateOf, spend, waitUntilPaid, type Bucket } from '../../rules/calls/token-bucket.ts'

/**
 * The time that a process takes to read requests: to parse them, to check them, and to count their tokens, all before a
 * wallet is asked. One project can cause so much of it a second and no more. What takes long is done for one call at a time,
 * project after project and in small steps, and after each the process rests from it for as long as it took: all other calls
 * have at least half of its time, and wait for one step at most.
 */
export interface Work {
  /** How long until a project may cause more work, in milliseconds. */
  waitOf(projectId: string): number
  /** Little work, done at once. */
  run<T>(projectId: string, doing: () => T): T
  /** Much work, when it is this project's turn. */
  runInTurn<T>(projectId: string, doing: (giveWay: () => Promise<void>) => Promise<T>): Promise<T>
}

export interface WorkOptions {
  /** Of the process's time: what one project may cause. */
  projectPercent: number
  /** Monotonic. */
  now?(): number
  /** What this thread has worked so far, in milliseconds. */
  workedMs?(): number
  restFor?(ms: number, then: () => void): void
}

const REMEMBERED_MAX = 50_000

export function createWork(options: WorkOptions): Work {
  const { now = () => performance.now(), workedMs = threadMs, restFor = restInBackground } = options
  const rate = rateOf((options.projectPercent / 100) * 1_000)
  const spent = new LRUCache<string, Bucket>({ max: REMEMBERED_MAX })
  const queue = createQueue()

  function charge(projectId: string, ms: number): void {
    spent.set(projectId, spend(spent.get(projectId), rate, ms, now()))
  }

  return {
    waitOf: (projectId) => waitUntilPaid(spent.get(projectId), rate, now()),
    run(projectId, doing) {
      const sinceMs = workedMs()
      try {
        return doing()
      } finally {
        charge(projectId, workedMs() - sinceMs)
      }
    },
    async runInTurn(projectId, doing) {
      await queue.enter(projectId)
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
        charge(projectId, totalMs)
        restFor(totalMs, queue.callNext)
      }
    },
  }
}

/** One at a time, project after project. */
function createQueue() {
  /** By project, in the order of their turns. */
  const waiting = new Map<string, (() => void)[]>()
  let isBusy = false
  return {
    async enter(projectId: string): Promise<void> {
      if (!isBusy) {
        isBusy = true
        return
      }
      await new Promise<void>((resolve) => {
        const ofProject = waiting.get(projectId)
        if (ofProject) ofProject.push(resolve)
        else waiting.set(projectId, [resolve])
      })
    },
    callNext(): void {
      const [next] = waiting
      if (!next) {
        isBusy = false
        return
      }
      const [projectId, ofProject] = next
      waiting.delete(projectId)
      const begin = ofProject.shift()
      if (ofProject.length > 0) waiting.set(projectId, ofProject)
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
