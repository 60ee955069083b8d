/** Parts that every rush of thousands of callers needs: the ports of the gateways, and faults that kill them during the rush. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../support/random.ts'
import type { Crowd, Tally } from './crowd.ts'
import type { ChaosSystem } from './system.ts'

/** The gateways themselves, not the proxies before them: those would need two sockets more for every call. */
export function portsOf({ gateways }: ChaosSystem): number[] {
  const there = gateways.filter(({ service }) => service.state === 'up' || service.state === 'paused')
  return there.flatMap(({ front }) => (front.target ? [front.target.port] : []))
}

/** Tells the crowds where gateways listen, now that they may have moved. */
export function meetAll(system: ChaosSystem, crowds: readonly Crowd[]): void {
  for (const crowd of crowds) crowd.meet(portsOf(system))
}

export interface Repeated {
  readonly times: number
  stop(): Promise<void>
}

/** Does something again and again, each time so long after the last one has ended. Work answers how often it has struck. */
export function repeat(everyMs: number, timesMax: number, work: () => Promise<number>): Repeated {
  const over = new AbortController()
  let times = 0
  const loop = (async () => {
    while (times < timesMax) {
      await sleep(everyMs, undefined, { signal: over.signal }).catch(() => undefined)
      if (over.signal.aborted) return
      times += await work()
    }
  })()
  return {
    get times() {
      return times
    },
    async stop() {
      over.abort()
      await loop
    },
  }
}

const KILL_EVERY_MS = 4_000

export function killGateways(system: ChaosSystem, crowds: readonly Crowd[], seed: number, killsMax: number): Repeated {
  const random = createRandom(seed + 1)
  return repeat(KILL_EVERY_MS, killsMax, async () => {
    // One that is paused must wake up to do what it has missed.
    const up = system.gateways.filter(({ service }) => service.state === 'up')
    if (up.length === 0) return 0
    const { service } = random.pick(up)
    service.kill()
    // As a balancer notices: thousands who knock at a closed door leave no time to open it.
    meetAll(system, crowds)
    await service.start()
    meetAll(system, crowds)
    return 1
  })
}

/** Returns the tallies once every call has been answered or refused. */
export async function talliesOf(crowds: readonly Crowd[], withinMs: number): Promise<Tally[]> {
  const tallies = await Promise.race([Promise.all(crowds.map(({ tally }) => tally)), sleep(withinMs, undefined)])
  if (!tallies) throw new Error(`not every call was answered or refused within ${withinMs} ms`)
  return tallies
}

export function unexpectedIn(tallies: readonly Tally[]): string[] {
  return tallies
    .flatMap(({ unexpected }) => Object.entries(unexpected))
    .map(([status, count]) => `${count} calls were answered ${status}`)
}
