import { createWatchdog } from './timer.ts'

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
  /** Told of each attempt that the server did not answer or put off, … */
  onPutOff?(error: unknown): void
  /** … and of each that it answered. */
  onAnswered?(): void
}

interface Waiting<Item, Answer> {
  item: Item
  /** Answered, refused, or past its deadline: not to be sent again. */
  isOver: boolean
  resolve(answer: Answer): void
  reject(error: unknown): void
}

export function createLane<Item, Answer>(options: LaneOptions<Item, Answer>): Lane<Item, Answer> {
  let queue: Waiting<Item, Answer>[] = []
  let running = false
  let idleWaiters: (() => void)[] = []

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, options.batchMax).filter((waiting) => !waiting.isOver)
      queue = queue.slice(options.batchMax)
      if (batch.length === 0) continue
      const unanswered = await attempt(batch)
      if (unanswered.length === 0) continue
      // The same items go again, first in line: ids make it a no-op where the lost attempt had been applied.
      queue = [...unanswered, ...queue]
      await sleep(options.retryEveryMs)
    }
    running = false
    for (const wake of idleWaiters) wake()
    idleWaiters = []
  }

  /** Returns the items that are to be sent again. */
  async function attempt(batch: Waiting<Item, Answer>[]): Promise<Waiting<Item, Answer>[]> {
    try {
      const answers = await options.run(batch.map((waiting) => waiting.item))
      options.onAnswered?.()
      batch.forEach((waiting, i) => {
        const answer = answers[i]
        if (answer instanceof Error) waiting.reject(answer)
        else waiting.resolve(answer as Answer)
      })
      return []
    } catch (error) {
      if (options.isTransient(error)) {
        options.onPutOff?.(error)
        return batch
      }
      if (batch.length === 1) {
        batch[0]?.reject(error)
        return []
      }
      // One bad item must not fail its neighbours, nor keep them: halves find it in few steps.
      const middle = Math.ceil(batch.length / 2)
      const unanswered = await attempt(batch.slice(0, middle))
      const rest = batch.slice(middle).filter(({ isOver }) => !isOver)
      return rest.length > 0 ? [...unanswered, ...(await attempt(rest))] : unanswered
    }
  }

  return {
    submit(item, waitMs) {
      if (queue.length >= options.queueMax) return Promise.reject(new LaneFull('the queue to the store is full'))
      return new Promise<Answer>((resolve, reject) => {
        queue.push(withDeadline(item, waitMs, resolve, reject))
        if (running) return
        running = true
        // Items submitted in the same turn of the event loop share the first batch.
        setImmediate(() => void drain())
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

/** The deadline holds also while a statement hangs: a frozen server answers nothing and fails nothing. */
function withDeadline<Item, Answer>(
  item: Item,
  waitMs: number,
  resolve: (answer: Answer) => void,
  reject: (error: unknown) => void,
): Waiting<Item, Answer> {
  const finish =
    <T>(settle: (value: T) => void) =>
    (value: T) => {
      waiting.isOver = true
      deadline.stop()
      settle(value)
    }
  const waiting = { item, isOver: false, resolve: finish(resolve), reject: finish(reject) }
  const deadline = createWatchdog(waitMs, () => waiting.reject(new LaneTimeout('the store did not answer in time')))
  return waiting
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
