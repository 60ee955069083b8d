import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'
import type { Random } from '../support/random.ts'
import type { Clock, EventKind, ScheduledEvent } from './clock.ts'

/**
 * Puts a clock in the place of this process's timers, clocks and chance, so that the code under test needs no seam for
 * them. A timer belongs to the process whose event started it.
 */
export interface VirtualTime {
  /** From now on, everything goes by this clock. */
  use(clock: Clock, random: Random): void
  restore(): void
}

/** Any fixed moment, in the middle of a minute. */
export const EPOCH_MS = Date.UTC(2026, 0, 1, 12, 0, 30)

export function installVirtualTime(): VirtualTime {
  let clock: Clock | undefined
  let random: Random | undefined
  const real = {
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    setInterval: globalThis.setInterval,
    setImmediate: globalThis.setImmediate,
  }
  const realNow = Date.now
  const realRandom = Math.random
  const realSleep = timersPromises.setTimeout
  const realTurn = timersPromises.setImmediate

  function schedule(ms: number, kind: EventKind, work: () => void): ScheduledEvent {
    if (!clock) throw new Error('no clock is in use')
    return clock.schedule(clock.current, ms, kind, work)
  }

  Object.assign(globalThis, {
    setTimeout: (work: () => void, ms = 0) => schedule(ms, 'timer', work),
    clearTimeout: (timer: ScheduledEvent | undefined) => timer?.cancel(),
    setImmediate: (work: () => void) => schedule(0, 'immediate', work),
    setInterval() {
      throw new Error('setInterval is not simulated')
    },
  })
  Date.now = () => EPOCH_MS + (clock?.nowMs ?? 0)
  Math.random = () => random?.next() ?? 0
  performance.now = () => clock?.nowMs ?? 0
  timersPromises.setTimeout = sleep as typeof timersPromises.setTimeout
  // Code that yields goes on at the same moment.
  timersPromises.setImmediate = (() => Promise.resolve()) as typeof timersPromises.setImmediate
  syncBuiltinESMExports()

  return {
    use(newClock, newRandom) {
      clock = newClock
      random = newRandom
    },
    restore() {
      Object.assign(globalThis, real)
      Date.now = realNow
      Math.random = realRandom
      // `now` is inherited: what we had put in front of it goes away.
      delete (performance as { now?: unknown }).now
      timersPromises.setTimeout = realSleep
      timersPromises.setImmediate = realTurn
      syncBuiltinESMExports()
    },
  }
}

/** Like the one of node:timers/promises, also in what it rejects with. */
function sleep<T>(ms: number, value: T, { signal }: { signal?: AbortSignal } = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = () => {
      clearTimeout(timer)
      const error = new Error('The operation was aborted', { cause: signal?.reason })
      reject(Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' }))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', fail)
      resolve(value)
    }, ms)
    if (signal?.aborted) fail()
    else signal?.addEventListener('abort', fail, { once: true })
  })
}
