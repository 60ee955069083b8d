/**
 * Time and processes that exist only here. Whatever happens is an event of some process at some virtual moment; the clock
 * runs one event, lets every promise that it settled run out, and goes on to the next. Nothing waits for real, and the
 * same seed gives the same order.
 */
export interface Clock {
  readonly nowMs: number
  /** The process whose event is running: work that its code starts belongs to the same process. */
  readonly current: Process
  schedule(process: Process, ms: number, kind: EventKind, work: () => void): ScheduledEvent
  /** Nothing of it ever runs again. */
  crash(process: Process): void
  /** Nothing of it runs until `resume`; meanwhile its timers expire and its sockets fill, as under SIGSTOP. */
  pause(process: Process): void
  resume(process: Process): void
  /** Runs events until `isOver`, or until none is left. */
  run(isOver: () => boolean): Promise<void>
}

export interface Process {
  readonly name: string
  state: 'running' | 'paused' | 'crashed'
}

/** In the order in which an event loop that wakes up finds them. */
const KINDS = ['timer', 'arrival', 'immediate'] as const
export type EventKind = (typeof KINDS)[number]

export interface ScheduledEvent {
  cancel(): void
}

interface Event {
  atMs: number
  /** Events of the same moment run in the order in which they were scheduled. */
  order: number
  process: Process
  kind: EventKind
  work: () => void
  isCancelled: boolean
}

/** Kept from before the globals are replaced. A turn of the real event loop also reports rejections nobody handled. */
const realSetImmediate = setImmediate

export function createProcess(name: string): Process {
  return { name, state: 'running' }
}

export function createClock(nobody: Process): Clock {
  let nowMs = 0
  let order = 0
  let current = nobody
  /** The next event is the last element. */
  const queue: Event[] = []
  const deferred = new Map<Process, Event[]>()

  function insert(event: Event): void {
    let low = 0
    let high = queue.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isBefore(event, queue[middle]!)) low = middle + 1
      else high = middle
    }
    queue.splice(low, 0, event)
  }

  return {
    get nowMs() {
      return nowMs
    },
    get current() {
      return current
    },
    schedule(process, ms, kind, work) {
      const event: Event = { atMs: nowMs + Math.max(0, ms), order: order++, process, kind, work, isCancelled: false }
      insert(event)
      return { cancel: () => void (event.isCancelled = true) }
    },
    crash(process) {
      process.state = 'crashed'
      deferred.delete(process)
    },
    pause(process) {
      process.state = 'paused'
      deferred.set(process, [])
    },
    resume(process) {
      process.state = 'running'
      const missed = deferred.get(process) ?? []
      deferred.delete(process)
      missed.sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || a.atMs - b.atMs || a.order - b.order)
      for (const event of missed) insert(Object.assign(event, { atMs: nowMs, order: order++ }))
    },
    async run(isOver) {
      while (!isOver()) {
        const event = queue.pop()
        if (!event) return
        if (event.isCancelled || event.process.state === 'crashed') continue
        if (event.process.state === 'paused') {
          deferred.get(event.process)?.push(event)
          continue
        }
        nowMs = event.atMs
        current = event.process
        event.work()
        await new Promise((resolve) => realSetImmediate(resolve))
        current = nobody
      }
    },
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
}
