/** Makes things fail at a seeded pace, so that a run can be repeated as far as a kernel and two cores allow, and heals them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom, type Random } from '../support/random.ts'
import { FAULTS, connectionFault, type Counts, type Fault, type Scene } from './faults.ts'
import type { ChaosSystem } from './system.ts'

export interface RunningFaults {
  readonly counts: Counts
  /** Stops them and heals what they did; resolves when every process is up. */
  heal(): Promise<void>
}

export interface FaultOptions {
  seed: number
  system: ChaosSystem
  leaseMs: number
  queryTimeoutMs: number
}

export function startFaults({ seed, ...options }: FaultOptions): RunningFaults {
  const counts: Counts = { gatewayKills: 0, postgresKills: 0, workerKills: 0, pauses: 0, cuts: 0, clockJumps: 0 }
  const end = new AbortController()
  const running: Promise<void>[] = []
  const background = (work: Promise<void>) => void running.push(work)
  const scene: Scene = { ...options, counts, over: end.signal, spared: new Set(), background }
  // Each kind of fault has its own generator, so that the pace of one does not change the choices of another.
  for (const [n, fault] of FAULTS.entries()) background(repeat(scene, fault, createRandom(seed * 100 + n)))
  spoilConnections(options.system, createRandom(seed * 100 + 99))
  return {
    counts,
    async heal() {
      end.abort()
      // A running fault may start more work in the background.
      for (const work of running) await work
      await undo(options.system)
    },
  }
}

async function repeat(scene: Scene, fault: Fault, random: Random): Promise<void> {
  const { everyMs, firstAfterMs } = fault
  const next = () => everyMs.least + random.int(everyMs.most - everyMs.least)
  let waitMs = firstAfterMs ?? next()
  for (;;) {
    await sleep(waitMs, undefined, { signal: scene.over }).catch(() => undefined)
    if (scene.over.aborted) return
    const startedMs = performance.now()
    await fault.strike(scene, random)
    // The fault's own time counts: a slow restart must not make kills rarer.
    waitMs = Math.max(100, next() - (performance.now() - startedMs))
  }
}

function spoilConnections({ gateways, worker, simulator }: ChaosSystem, random: Random): void {
  const spoil = (share: number, bytesMax: number) => () =>
    random.next() < share ? connectionFault(random, bytesMax) : {}
  for (const { front, database } of gateways) {
    front.faultFor = spoil(0.12, 6_000)
    database.faultFor = spoil(0.3, 60_000)
  }
  worker.database.faultFor = spoil(0.3, 60_000)
  simulator.proxy.faultFor = spoil(0.1, 30_000)
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
