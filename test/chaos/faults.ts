/** Each kind of fault: how often it strikes, and what it does. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConnectionFault, CutKind, FaultProxy } from '../support/fault-proxy.ts'
import type { Random } from '../support/random.ts'
import type { Service } from './service.ts'
import type { ChaosSystem, GatewayProcess } from './system.ts'

export interface Counts {
  gatewayKills: number
  postgresKills: number
  workerKills: number
  pauses: number
  cuts: number
  clockJumps: number
}

export interface Scene {
  system: ChaosSystem
  counts: Counts
  leaseMs: number
  /** A statement is given up after this; what was sent may still arrive. */
  queryTimeoutMs: number
  /** Aborts when the faults must end. */
  over: AbortSignal
  /** Gateways that must live a little longer. */
  spared: Set<GatewayProcess>
  /** For what goes on while the next strike comes. */
  background(work: Promise<void>): void
}

export interface Fault {
  everyMs: { least: number; most: number }
  firstAfterMs?: number
  strike(scene: Scene, random: Random): Promise<void> | void
}

const DAY = 86_400
/** In seconds. With the first, a gateway can only refuse. */
const CLOCK_JUMPS = [-30 * DAY, -DAY, -3_600, -30, 0, 30, 3_600, DAY]

export const FAULTS: Fault[] = [
  { everyMs: { least: 3_000, most: 4_400 }, strike: killGateway },
  // Late enough for the first long pause, and early enough for a short run.
  { everyMs: { least: 30_000, most: 44_000 }, firstAfterMs: 17_000, strike: killPostgres },
  { everyMs: { least: 14_000, most: 24_000 }, strike: killWorker },
  { everyMs: { least: 7_000, most: 12_000 }, firstAfterMs: 4_000, strike: pauseGateway },
  {
    everyMs: { least: 15_000, most: 25_000 },
    strike: (scene, random) => pause(scene, scene.system.worker.service, random.int(5_000)),
  },
  {
    everyMs: { least: 18_000, most: 30_000 },
    strike: (scene, random) => pause(scene, scene.system.postgres, impatience(scene, random)),
  },
  { everyMs: { least: 12_000, most: 20_000 }, strike: stallDatabase },
  { everyMs: { least: 5_000, most: 9_000 }, strike: delayStatements },
  {
    everyMs: { least: 2_000, most: 5_000 },
    strike: (scene, random) => cutSome(scene, random, clientOfStore(scene, random).database),
  },
  {
    everyMs: { least: 2_000, most: 4_000 },
    strike: (scene, random) => cutSome(scene, random, scene.system.simulator.proxy),
  },
  {
    everyMs: { least: 1_500, most: 3_000 },
    strike: (scene, random) => cutSome(scene, random, random.pick(scene.system.gateways).front),
  },
  { everyMs: { least: 4_000, most: 8_000 }, strike: jumpClock },
]

async function killGateway(scene: Scene, random: Random): Promise<void> {
  const chosen = await anyGateway(scene, random)
  if (!chosen) return
  scene.counts.gatewayKills += 1
  // Not waited for: the other one may die while this one starts.
  scene.background(killAndRestart(scene, chosen.service, random.int(600)))
}

async function killPostgres(scene: Scene, random: Random): Promise<void> {
  const { postgres } = scene.system
  if (postgres.state !== 'up' && postgres.state !== 'paused') return
  scene.counts.postgresKills += 1
  await postgres.kill()
  await lasting(scene, random.int(3_000))
  await postgres.start()
}

async function killWorker(scene: Scene, random: Random): Promise<void> {
  scene.counts.workerKills += 1
  await killAndRestart(scene, scene.system.worker.service, random.int(2_000))
}

/**
 * The first, and then one in three, outlasts the lease: holds are swept, and the gateway wakes to settle calls that were
 * given up for dead. It is not killed before it could.
 */
async function pauseGateway(scene: Scene, random: Random): Promise<void> {
  const chosen = await anyGateway(scene, random)
  if (!chosen) return
  const isLong = scene.counts.pauses === 0 || random.int(3) === 0
  if (!isLong) return pause(scene, chosen.service, random.int(3_000))
  scene.spared.add(chosen)
  await pause(scene, chosen.service, scene.leaseMs + 2_500)
  await lasting(scene, 2_000)
  scene.spared.delete(chosen)
}

async function stallDatabase(scene: Scene, random: Random): Promise<void> {
  const { database } = clientOfStore(scene, random)
  if (random.int(3) === 0) database.silence()
  else await pause(scene, database, impatience(scene, random))
}

/** Connections break while statements are on their way: they are sent again, run, and then arrive a second time. */
async function delayStatements(scene: Scene, random: Random): Promise<void> {
  const { database } = clientOfStore(scene, random)
  database.slow(500 + random.int(2_500))
  await lasting(scene, 50 + random.int(300))
  scene.counts.cuts += database.cut('rst-client')
}

/** One in three outlasts what clients wait: they try elsewhere, and statements that nobody waits for arrive later. */
function impatience({ queryTimeoutMs }: Scene, random: Random): number {
  return random.int(3) === 0 ? queryTimeoutMs + 1_500 : random.int(3_000)
}

function cutSome({ counts }: Scene, random: Random, proxy: FaultProxy): void {
  const share = random.next()
  counts.cuts += proxy.cut(random.pick<CutKind>(['fin', 'rst']), () => random.next() < share)
}

function jumpClock({ system, counts }: Scene, random: Random): void {
  if (!system.hasFakeTime) return
  counts.clockJumps += 1
  random.pick(system.gateways).clock.set(random.pick(CLOCK_JUMPS))
}

async function killAndRestart(scene: Scene, service: Service, downMs: number): Promise<void> {
  service.kill()
  await lasting(scene, downMs)
  await service.start()
}

async function pause(scene: Scene, target: { pause(): void; resume(): void }, ms: number): Promise<void> {
  scene.counts.pauses += 1
  target.pause()
  await lasting(scene, ms)
  target.resume()
}

/** Waits for one to come up: a kill that hits nobody would only look like one. */
async function anyGateway(scene: Scene, random: Random): Promise<GatewayProcess | undefined> {
  while (!scene.over.aborted) {
    const fair = scene.system.gateways.filter(
      (gateway) => ['up', 'paused'].includes(gateway.service.state) && !scene.spared.has(gateway),
    )
    if (fair.length > 0) return random.pick(fair)
    await lasting(scene, 50)
  }
  return undefined
}

function clientOfStore({ system }: Scene, random: Random): { database: FaultProxy } {
  return random.pick([...system.gateways, system.worker])
}

async function lasting({ over }: Scene, ms: number): Promise<void> {
  await sleep(ms, undefined, { signal: over }).catch(() => undefined)
}

/** Draws a fault for a connection that is bad from its first byte. */
export function connectionFault(random: Random, bytesMax: number): ConnectionFault {
  const of = random.pick(['request', 'answer'] as const)
  const how = random.pick(['fin', 'rst'] as const)
  return random.pick<ConnectionFault>([
    { delayMs: random.int(30) },
    { cutAfter: { bytes: random.int(bytesMax), of, how } },
    { cutAfter: { bytes: random.int(bytesMax), of: 'answer', how } },
    { blackHole: true },
  ])
}
