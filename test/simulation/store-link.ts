import type { Random } from '../support/random.ts'
import type { Clock, Process } from './clock.ts'
import type { Weather } from './scenario.ts'
import type { Trace } from './trace.ts'

/** The gateways' replacement for connections to PostgreSQL: whole transactions, and all that can happen on the way. */
export interface StoreLink {
  /** Statements that have not reached the store yet, also those whose sender has given them up. */
  readonly underWay: number
  transact<T>(client: Process, what: string, work: () => T): Promise<T>
}

/**
 * `ghost`: the client is told that the connection broke, and the statement is applied long after, when the client has
 * sent it again or ended the call. `refused`: an error that sending again does not cure.
 */
const MISHAPS = ['request_lost', 'answer_lost', 'answer_lost', 'ghost', 'refused'] as const
type Fate = { requestMs: number; answerMs: number; mishap: (typeof MISHAPS)[number] | undefined }

/** As in src/store/database.ts. */
const QUERY_TIMEOUT_MS = 8_000

export interface StoreLinkOptions {
  clock: Clock
  /** The process that the transactions run in. */
  store: Process
  random: Random
  weather: Weather
  trace: Trace
}

export function createStoreLink({ clock, store, random, weather, trace }: StoreLinkOptions): StoreLink {
  let underWay = 0

  function drawFate(): Fate {
    const fate: Fate = { requestMs: random.int(4), answerMs: random.int(4), mishap: undefined }
    if (clock.nowMs >= weather.calmFromMs) return fate
    if (random.next() < weather.mishapShare) {
      fate.mishap = random.pick(MISHAPS)
      if (fate.mishap === 'ghost') fate.requestMs = random.int(random.pick([100, 2_000, 30_000]))
    }
    if (random.next() < weather.slowShare) fate.requestMs += random.int(random.pick([300, 2_000, 20_000]))
    if (random.next() < weather.slowShare) fate.answerMs += random.int(random.pick([300, 2_000, 20_000]))
    return fate
  }

  function isDown(): boolean {
    return weather.outages.some(({ fromMs, toMs }) => fromMs <= clock.nowMs && clock.nowMs < toMs)
  }

  return {
    get underWay() {
      return underWay
    },
    transact<T>(client: Process, what: string, work: () => T): Promise<T> {
      const fate = drawFate()
      return new Promise<T>((resolve, reject) => {
        const timeout = clock.schedule(client, QUERY_TIMEOUT_MS, 'timer', () => reject(new Error('Query read timeout')))
        const answer = (ms: number, settle: () => void) => {
          clock.schedule(client, ms, 'arrival', () => {
            timeout.cancel()
            settle()
          })
        }
        if (fate.mishap === 'ghost') answer(fate.answerMs, () => reject(BROKEN))
        underWay += 1
        clock.schedule(store, fate.requestMs, 'arrival', () => {
          underWay -= 1
          if (isDown()) {
            trace(client, `${what}: the store is down`)
            answer(fate.answerMs, () => reject(UNREACHABLE))
            return
          }
          // Bytes that a dying process had written to its socket may or may not have left the machine.
          const isLost = fate.mishap === 'request_lost' || (client.state === 'crashed' && random.next() < 0.5)
          if (fate.mishap) trace(client, `${what}: ${fate.mishap}`)
          const settle = isLost
            ? () => reject(BROKEN)
            : fate.mishap === 'refused'
              ? () => reject(REFUSED)
              : resultOf(work, resolve, reject)
          if (fate.mishap === 'answer_lost') answer(fate.answerMs, () => reject(BROKEN))
          else if (fate.mishap !== 'ghost') answer(fate.answerMs, settle)
        })
      })
    },
  }
}

/** Runs the transaction now and hands out what comes of it later. */
function resultOf<T>(work: () => T, resolve: (value: T) => void, reject: (error: unknown) => void): () => void {
  try {
    const value = work()
    return () => resolve(value)
  } catch (error) {
    return () => reject(error)
  }
}

/** Made once: there are thousands in a run, and the stack of each would cost more than the rest of its statement. */
const BROKEN = Object.assign(new Error('the connection broke'), { code: 'ECONNRESET' })
const UNREACHABLE = Object.assign(new Error('nobody listens'), { code: 'ECONNREFUSED' })
const REFUSED = Object.assign(new Error('internal error'), { code: 'XX000' })
