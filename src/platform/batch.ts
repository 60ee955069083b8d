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

export class LaneFull extends Error {
  override name = 'LaneFull'
}
/** Its cause is why the store had put it off last, where it had. */
export class LaneTimeout extends Error {
  override name = 'LaneTimeout'
}

export interface LaneOptions<Item, Answer> {
  /** Answers in the order of the items. An `Error` as an answer rejects that item alone. */
  run(items: readonly Item[]): Promise<readonly (Answer | Error)[]>
  batchMax: number
  /** The most that all items of a batch may come to. An item that is larger goes alone. */
  sizeMax?: number
  sizeOf?(item: Item): number
  queueMax: number
  /** Is the batch worth sending again (the server went away), as opposed to being wrong? */
  isTransient(error: unknown): boolean
  /** Did a transient error come from taking too long? Then fewer go at once, until the server answers in time again. */
  isTooLong?(error: unknown): boolean
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
  /** Why the server put off the last batch. Undefined: it has answered since. */
  let putOffBy: unknown
  const idleWaiters: (() => void)[] = []
  let most = options.batchMax

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      const { batch, left } = nextOf(queue, most, options)
      queue = left
      const unanswered = batch.length === 0 ? [] : await attempt(batch)
      if (unanswered.length === 0) continue
      // Ids make it a no-op where the lost attempt had been applied. One that takes too long even alone lets all others pass.
      const isLast = batch.length === 1 && options.isTooLong?.(putOffBy)
      queue = isLast ? [...queue, ...unanswered] : [...unanswered, ...queue]
      await sleep(options.retryEveryMs)
    }
    running = false
    for (const wake of idleWaiters.splice(0)) wake()
  }

  /** Returns the items that are to be sent again. */
  async function attempt(batch: Waiting<Item, Answer>[]): Promise<Waiting<Item, Answer>[]> {
    try {
      const answers = await options.run(batch.map((waiting) => waiting.item))
      options.onAnswered?.()
      putOffBy = undefined
      most = Math.min(options.batchMax, most * 2)
      deliver(batch, answers)
      return []
    } catch (error) {
      if (options.isTransient(error)) {
        options.onPutOff?.(error)
        putOffBy = error
        if (options.isTooLong?.(error)) most = Math.ceil(batch.length / 2)
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
        queue.push(withDeadline(item, waitMs, { resolve, reject, reasonOf: () => putOffBy }))
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

/** In order; but what has no room in this batch keeps its place, and smaller ones behind it may go first. */
function nextOf<Item, Answer>(
  queue: readonly Waiting<Item, Answer>[],
  most: number,
  { batchMax, sizeMax = Infinity, sizeOf = () => 0 }: LaneOptions<Item, Answer>,
): Record<'batch' | 'left', Waiting<Item, Answer>[]> {
  const batch: Waiting<Item, Answer>[] = []
  const left: Waiting<Item, Answer>[] = []
  let size = 0
  let seen = 0
  for (; seen < queue.length && batch.length < most && left.length < batchMax; seen++) {
    const waiting = queue[seen] as Waiting<Item, Answer>
    if (waiting.isOver) continue
    const itsSize = sizeOf(waiting.item)
    const hasRoom = batch.length === 0 || size + itsSize <= sizeMax
    if (hasRoom) size += itsSize
    const where = hasRoom ? batch : left
    where.push(waiting)
  }
  return { batch, left: [...left, ...queue.slice(seen)] }
}

function deliver<Item, Answer>(batch: readonly Waiting<Item, Answer>[], answers: readonly (Answer | Error)[]): void {
  batch.forEach((waiting, i) => {
    const answer = answers[i]
    if (answer instanceof Error) waiting.reject(answer)
    else waiting.resolve(answer as Answer)
  })
}

/** The deadline holds also while a statement hangs: a frozen server answers nothing and fails nothing. */
function withDeadline<Item, Answer>(
  item: Item,
  waitMs: number,
  { resolve, reject, reasonOf }: Pick<Waiting<Item, Answer>, 'resolve' | 'reject'> & { reasonOf(): unknown },
): Waiting<Item, Answer> {
  const finish =
    <T>(settle: (value: T) => void) =>
    (value: T) => {
      waiting.isOver = true
      deadline.stop()
      settle(value)
    }
  const waiting = { item, isOver: false, resolve: finish(resolve), reject: finish(reject) }
  const deadline = createWatchdog(waitMs, () =>
    waiting.reject(new LaneTimeout('the store did not answer in time', { cause: reasonOf() })),
  )
  return waiting
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
