/** Work that waits for its turn: some at a time, a limited number in line, and nothing that nobody waits for any more. */
export interface Queue {
  readonly waiting: number
  /** Rejects with `QueueFull` at once when the line is full. `isLate` says whether the deadline has passed. */
  run<T>(deadlineMs: number, work: (isLate: () => boolean) => Promise<T>): Promise<T | 'late'>
  /** Resolves when nothing runs or waits. */
  idle(): Promise<void>
}

export class QueueFull extends Error {}

export function createQueue({ runningMax, waitingMax }: { runningMax: number; waitingMax: number }): Queue {
  const line: (() => void)[] = []
  let running = 0
  let idleWaiters: (() => void)[] = []

  function leave(): void {
    running -= 1
    line.shift()?.()
    if (running > 0) return
    for (const wake of idleWaiters) wake()
    idleWaiters = []
  }

  return {
    get waiting() {
      return line.length
    },
    async run(deadlineMs, work) {
      const dueMs = performance.now() + deadlineMs
      const isLate = () => performance.now() >= dueMs
      if (running >= runningMax) {
        if (line.length >= waitingMax) throw new QueueFull('too many wait already')
        // The turn is handed over while it is still counted, so that nobody who comes between can take it.
        const turn = Promise.withResolvers<void>()
        line.push(() => {
          running += 1
          turn.resolve()
        })
        await turn.promise
      } else {
        running += 1
      }
      try {
        return isLate() ? 'late' : await work(isLate)
      } finally {
        leave()
      }
    },
    idle: () => (running === 0 ? Promise.resolve() : new Promise((resolve) => idleWaiters.push(resolve))),
  }
}
