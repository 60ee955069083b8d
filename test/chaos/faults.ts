/** What goes wrong, when, and to whom: seeded, so that a run can be repeated as far as two cores and a kernel allow. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConnectionFault, CutKind, FaultProxy } from '../support/fault-proxy.ts'
import { createRandom, type Random } from '../support/random.ts'
import type { Service } from './service.ts'
import type { ChaosSystem, GatewayProcess } from './system.ts'

export interface FaultCounts {
  gatewayKills: number
  postgresKills: number
  workerKills: number
  pauses: number
  cuts: number
  clockJumps: number
}

export interface Faults {
  readonly counts: FaultCounts
  /** Stops doing harm and undoes all of it; resolves when every process is up. */
  heal(): Promise<void>
}

export interface FaultOptions {
  seed: number
  system: ChaosSystem
  leaseMs: number
  /** A connection to PostgreSQL or a frozen server is given up after this; what was sent on it arrives later. */
  queryTimeoutMs: number
}

interface Range {
  least: number
  most: number
}

/** How often each thing happens, in ms between two times. */
const EVERY = {
  gatewayKill: { least: 3_000, most: 4_400 },
  postgresKill: { least: 30_000, most: 44_000 },
  workerKill: { least: 14_000, most: 24_000 },
  gatewayPause: { least: 7_000, most: 12_000 },
  postgresPause: { least: 18_000, most: 30_000 },
  workerPause: { least: 15_000, most: 25_000 },
  databaseStall: { least: 12_000, most: 20_000 },
  databaseCut: { least: 2_000, most: 5_000 },
  upstreamCut: { least: 2_000, most: 4_000 },
  callerCut: { least: 1_500, most: 3_000 },
  clockJump: { least: 4_000, most: 8_000 },
} satisfies Record<string, Range>

const DAY = 86_400
const CLOCK_JUMPS = [-DAY, -3_600, -30, 0, 30, 3_600, DAY]

export function startFaults({ seed, system, leaseMs, queryTimeoutMs }: FaultOptions): Faults {
  const { postgres, gateways, worker, simulator } = system
  const counts: FaultCounts = { gatewayKills: 0, postgresKills: 0, workerKills: 0, pauses: 0, cuts: 0, clockJumps: 0 }
  const over = new AbortController()
  const loops: Promise<void>[] = []

  /** Each kind of harm has its own generator, so that the pace of one does not change the choices of another. */
  function repeat(
    name: keyof typeof EVERY,
    harm: (random: Random) => Promise<void> | void,
    firstAfterMs?: number,
  ): void {
    const random = createRandom(seed * 100 + loops.length)
    const run = async () => {
      let waitMs = firstAfterMs ?? within(random, EVERY[name])
      while (!over.signal.aborted) {
        await sleep(waitMs, undefined, { signal: over.signal }).catch(() => undefined)
        if (over.signal.aborted) return
        const startedMs = performance.now()
        await harm(random)
        // The harm's own time counts: a slow restart must not make kills rarer.
        waitMs = Math.max(100, within(random, EVERY[name]) - (performance.now() - startedMs))
      }
    }
    loops.push(run())
  }

  /** Ends early when the run does. */
  const lasting = (ms: number) => sleep(ms, undefined, { signal: over.signal }).catch(() => undefined)

  async function killAndRestart(service: Service, downMs: number): Promise<void> {
    service.kill()
    await lasting(downMs)
    await service.start()
  }

  async function pause(target: { pause(): void; resume(): void }, ms: number): Promise<void> {
    counts.pauses += 1
    target.pause()
    await lasting(ms)
    target.resume()
  }

  function victim(random: Random): GatewayProcess | undefined {
    const alive = gateways.filter(({ service }) => service.state === 'up' || service.state === 'paused')
    return alive.length === 0 ? undefined : random.pick(alive)
  }

  repeat('gatewayKill', (random) => {
    const chosen = victim(random)
    if (!chosen) return
    counts.gatewayKills += 1
    // Not waited for: the other one may die while this one starts.
    loops.push(killAndRestart(chosen.service, random.int(600)))
  })
  repeat(
    'postgresKill',
    async (random) => {
      if (postgres.state !== 'up' && postgres.state !== 'paused') return
      counts.postgresKills += 1
      await postgres.kill()
      await lasting(random.int(3_000))
      await postgres.start()
    },
    15_000 + (seed % 5) * 1_000,
  )
  repeat('workerKill', async (random) => {
    counts.workerKills += 1
    await killAndRestart(worker.service, random.int(2_000))
  })
  // One in three outlasts the lease: its holds are swept, and it wakes to settle calls that were given up for dead.
  repeat('gatewayPause', (random) =>
    pause(random.pick(gateways).service, random.int(3) === 0 ? leaseMs + 2_500 : random.int(3_000)),
  )
  repeat('workerPause', (random) => pause(worker.service, random.int(5_000)))
  // One in three outlasts the patience of its clients: they try elsewhere, and it wakes to statements nobody waits for.
  repeat('postgresPause', (random) => pause(postgres, random.int(3) === 0 ? queryTimeoutMs + 1_500 : random.int(3_000)))
  repeat('databaseStall', async (random) => {
    const { database } = random.pick([...gateways, worker])
    await pause(database, random.int(2) === 0 ? queryTimeoutMs + 1_500 : random.int(2_500))
  })

  function cutSome(random: Random, proxy: FaultProxy): void {
    const share = random.next()
    counts.cuts += proxy.cut(random.pick<CutKind>(['fin', 'rst']), () => random.next() < share)
  }
  repeat('databaseCut', (random) => cutSome(random, random.pick([...gateways, worker]).database))
  repeat('upstreamCut', (random) => cutSome(random, simulator.proxy))
  repeat('callerCut', (random) => cutSome(random, random.pick(gateways).front))
  if (system.hasFakeTime) {
    repeat('clockJump', (random) => {
      counts.clockJumps += 1
      random.pick(gateways).clock.set(random.pick(CLOCK_JUMPS))
    })
  }

  const random = createRandom(seed * 100 + 99)
  const fault = (share: number, choose: () => ConnectionFault) => () => (random.next() < share ? choose() : {})
  for (const { front, database } of gateways) {
    front.faultFor = fault(0.12, () => connectionFault(random, 6_000))
    database.faultFor = fault(0.3, () => connectionFault(random, 60_000))
  }
  simulator.proxy.faultFor = fault(0.1, () => connectionFault(random, 30_000))

  return {
    counts,
    async heal() {
      over.abort()
      await Promise.all(loops)
      await undo(system)
    },
  }
}

function connectionFault(random: Random, bytesMax: number): ConnectionFault {
  const of = random.pick(['request', 'answer'] as const)
  const how = random.pick(['fin', 'rst'] as const)
  return random.pick<() => ConnectionFault>([
    () => ({ delayMs: random.int(30) }),
    () => ({ cutAfter: { bytes: random.int(bytesMax), of, how } }),
    () => ({ cutAfter: { bytes: random.int(bytesMax), of: 'answer', how } }),
    () => ({ blackHole: true }),
  ])()
}

async function undo({ postgres, gateways, worker, simulator }: ChaosSystem): Promise<void> {
  const proxies = [simulator.proxy, worker.database, ...gateways.flatMap(({ front, database }) => [front, database])]
  for (const proxy of proxies) {
    proxy.faultFor = () => ({})
    proxy.resume()
    proxy.cut('rst', ({ blackHole }) => blackHole === true)
  }
  for (const { clock } of gateways) clock.set(0)
  postgres.resume()
  if (postgres.state === 'down') await postgres.start()
  for (const { service } of [worker, simulator, ...gateways]) {
    service.resume()
    await service.start()
  }
}

function within(random: Random, { least, most }: Range): number {
  return least + random.int(most - least)
}
