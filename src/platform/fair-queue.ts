/**
 * Work that waits for its turn: some at a time, a limited number in line, and nothing that nobody waits for any more. Each
 * piece is somebody's (`key`). Those who wait take turns, and nobody has more in line than there is room left, so that who
 * asks for a lot waits for itself: with one such there is half of the line for all others, with two a third.
 */
export interface FairQueue {
  readonly waiting: number
  /** Does it have as much running as it may? */
  isAtLimit(key: string): boolean
  /**
   * Rejects with `QueueFull` at once when there is no room for this key, and is `late` when its turn does not come in time.
   * `isLate` says whether that time has passed since.
   */
  run<T>(key: string, waitMs: number, work: (isLate: () => boolean) => Promise<T>): Promise<T | 'late'>
  /** Resolves when nothing runs or waits. */
  idle(): Promise<void>
}

export class QueueFull extends Error {}

export interface FairQueueOptions {
  runningMax: number
  waitingMax: number
  /** For each key. */
  runningEachMax: number
  waitingEachMax?: number
}

export function createFairQueue(options: FairQueueOptions): FairQueue {
  const lines = createLines(options)
  return {
    get waiting() {
      return lines.waiting
    },
    isAtLimit: (key) => lines.of(key).running >= options.runningEachMax,
    async run(key, waitMs, work) {
      const dueMs = performance.now() + waitMs
      const isLate = () => performance.now() >= dueMs
      const line = lines.of(key)
      if (lines.mayBegin(line)) lines.begin(key, line)
      else if (!(await lines.turnIn(key, line, waitMs))) return 'late'
      try {
        return isLate() ? 'late' : await work(isLate)
      } finally {
        lines.end(key, line)
      }
    },
    idle: () => lines.idle(),
  }
}

interface Line {
  running: number
  waiting: Set<() => void>
}

function createLines({ runningMax, waitingMax, runningEachMax, waitingEachMax = waitingMax }: FairQueueOptions) {
  /** By key. Who had a turn last is at the end. */
  const lines = new Map<string, Line>()
  let running = 0
  let waiting = 0
  let idleWaiters: (() => void)[] = []

  function moveBack(key: string, line: Line): void {
    lines.delete(key)
    if (line.running > 0 || line.waiting.size > 0) lines.set(key, line)
  }

  function mayBegin(line: Line): boolean {
    return running < runningMax && line.running < runningEachMax
  }

  function begin(key: string, line: Line): void {
    running += 1
    line.running += 1
    moveBack(key, line)
  }

  function handOver(): void {
    for (const [key, line] of lines) {
      const [wake] = line.waiting
      if (!wake || !mayBegin(line)) continue
      line.waiting.delete(wake)
      waiting -= 1
      // Counted before it is told, so that nobody who comes between can take it.
      begin(key, line)
      wake()
    }
  }

  return {
    get waiting() {
      return waiting
    },
    of: (key: string): Line => lines.get(key) ?? { running: 0, waiting: new Set() },
    mayBegin,
    begin,
    end(key: string, line: Line): void {
      running -= 1
      line.running -= 1
      moveBack(key, line)
      handOver()
      if (running > 0) return
      for (const wake of idleWaiters) wake()
      idleWaiters = []
    },
    /** Whether it came in time. */
    async turnIn(key: string, line: Line, waitMs: number): Promise<boolean> {
      if (line.waiting.size >= Math.min(waitingEachMax, waitingMax - waiting)) throw new QueueFull('no room in line')
      const turn = Promise.withResolvers<boolean>()
      const wake = () => turn.resolve(true)
      const timer = setTimeout(() => {
        if (!line.waiting.delete(wake)) return
        waiting -= 1
        moveBack(key, line)
        turn.resolve(false)
      }, waitMs)
      line.waiting.add(wake)
      waiting += 1
      lines.set(key, line)
      return turn.promise.finally(() => clearTimeout(timer))
    },
    idle: () => (running === 0 ? Promise.resolve() : new Promise<void>((resolve) => idleWaiters.push(resolve))),
  }
}
