/**
 * A lane runs one batch at a time: while it runs, new items queue; when it returns, everything queued goes as the next
 * batch. No timer: an idle lane sends at once, a busy one batches by itself, and the busier it is the cheaper each item.
 */
export interface Lane<Item, Answer> {
  /** Rejects with `LaneFull` when the queue is full and with `LaneTimeout` when the deadline passes unanswered. */
  submit(item: Item, waitMs: number): Promise<Answer>
  readonly queued: number
  /** Resolves when nothing is queued or running. */
  idle(): Promise<void>
}

export class LaneFull extends Error {}
export class LaneTimeout extends Error {}

export interface LaneOptions<Item, Answer> {
  /** Answers in the order of the items. An `Error` as an answer rejects that item alone. */
  run(items: readonly Item[]): Promise<readonly (Answer | Error)[]>
  batchMax: number
  queueMax: number
  /** Is the batch worth sending again (the server went away), as opposed to being wrong? */
  isTransient(error: unknown): boolean
  retryEveryMs: number
}

interface Waiting<Item, Answer> {
  item: Item
  deadline: number
  resolve(answer: Answer): void
  reject(error: unknown): void
}

export function createLane<Item, Answer>(options: LaneOptions<Item, Answer>): Lane<Item, Answer> {
  let queue: Waiting<Item, Answer>[] = []
  let running = false
  let idleWaiters: (() => void)[] = []

  async function drain(): Promise<void> {
    running = true
    while (queue.length > 0) {
      const batch = queue.slice(0, options.batchMax)
      queue = queue.slice(options.batchMax)
      const unanswered = await attempt(batch)
      if (unanswered.length === 0) continue
      // The same items go again, first in line: ids make it a no-op where the lost attempt had been applied.
      queue = [...unanswered, ...queue]
      await sleep(options.retryEveryMs)
      queue = withoutExpired(queue)
    }
    running = false
    for (const wake of idleWaiters) wake()
    idleWaiters = []
  }

  /** Returns the items that are to be sent again. */
  async function attempt(batch: Waiting<Item, Answer>[]): Promise<Waiting<Item, Answer>[]> {
    try {
      const answers = await options.run(batch.map((waiting) => waiting.item))
      batch.forEach((waiting, i) => {
        const answer = answers[i]
        if (answer instanceof Error) waiting.reject(answer)
        else waiting.resolve(answer as Answer)
      })
      return []
    } catch (error) {
      if (options.isTransient(error)) return batch
      if (batch.length === 1) {
        batch[0]?.reject(error)
        return []
      }
      // One bad item must not fail its neighbours: each goes alone.
      const unanswered: Waiting<Item, Answer>[] = []
      for (const waiting of batch) unanswered.push(...(await attempt([waiting])))
      return unanswered
    }
  }

  return {
    submit(item, waitMs) {
      if (queue.length >= options.queueMax) return Promise.reject(new LaneFull('the queue to the store is full'))
      return new Promise<Answer>((resolve, reject) => {
        queue.push({ item, deadline: performance.now() + waitMs, resolve, reject })
        // Items submitted in the same turn of the event loop share the first batch.
        if (!running) {
          running = true
          setImmediate(() => void drain())
        }
      })
    },
    get queued() {
      return queue.length
    },
    idle() {
      return running ? new Promise<void>((resolve) => idleWaiters.push(resolve)) : Promise.resolve()
    },
  }
}

function withoutExpired<Item, Answer>(queue: Waiting<Item, Answer>[]): Waiting<Item, Answer>[] {
  const now = performance.now()
  return queue.filter((waiting) => {
    if (waiting.deadline > now) return true
    waiting.reject(new LaneTimeout('the store did not answer in time'))
    return false
  })
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
