/**
 * PostgreSQL dies under load and comes back 8 s later. Meanwhile nobody is told 401 or 500, new calls are told to retry,
 * and answers that had begun go on: they end in [DONE], and are charged, when it is back.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../support/random.ts'
import { addKeyPair, type TestProject } from '../support/world.ts'
import { planOf } from './kinds.ts'
import { judge, type Funding } from './oracle.ts'
import { say, showCases } from './report.ts'
import { startSystem, type ChaosSystem, type GatewayProcess } from './system.ts'
import { createSender, type Attempt, type Sender } from './traffic.ts'
import { RICH_NANOS, fundedProject, untilBooksAreQuiet } from './wallets.ts'

const AWAY_MS = 8_000
const BEFORE_MS = 3_000
const AFTER_MS = 10_000
/** New calls must succeed again within this. */
const BACK_WITHIN_MS = 10_000
/** Longer than the outage, so that nothing is swept. */
const LEASE_MS = 60_000
const STREAMS = [
  // Ends while PostgreSQL is away, and waits for it.
  { tokens: 60, count: 10 },
  // Is still running when it comes back.
  { tokens: 150, count: 10 },
]
const GAP_MS = 100
const CALLERS_PER_GATEWAY = 8
const REST_MS = 100
const ANSWER_WITHIN_MS = 45_000

export async function outage({ seed }: { seed: number }): Promise<boolean> {
  const system = await startSystem({ leaseMs: LEASE_MS, gateways: 2 })
  try {
    return await endure(system, seed)
  } finally {
    await system.close()
  }
}

async function endure(system: ChaosSystem, seed: number): Promise<boolean> {
  const funding: Funding[] = []
  const known = await fundedProject(system, RICH_NANOS, funding)
  const unseen = { ...known, ...(await addKeyPair(system.store, system.secrets, known.id)) }
  const sender = createSender(ANSWER_WITHIN_MS)
  const random = createRandom(seed)
  const load = startLoad(system.gateways, sender, known, seed)
  await sleep(1_000)
  const streams = STREAMS.flatMap(({ tokens, count }) =>
    Array.from({ length: count }, (_, n) => {
      const plan = planOf('stream', { tokens, directive: `gap=${GAP_MS}`, stream: true }, random)
      return sender.send(plan, known, system.gateways[n % system.gateways.length]!)
    }),
  )
  await sleep(BEFORE_MS)

  const killedMs = performance.now()
  await system.postgres.kill()
  say('PostgreSQL is dead')
  // A key pair that no gateway has ever seen cannot be checked now, which is no reason to call it wrong.
  const strangers = system.gateways.map((gateway) =>
    sleep(AWAY_MS / 2).then(() => sender.send(planOf('unseen keys', { tokens: 3 }, random), unseen, gateway)),
  )
  await sleep(AWAY_MS - (performance.now() - killedMs))
  await system.postgres.start()
  const backMs = performance.now()
  say(`PostgreSQL is back, ${((backMs - killedMs) / 1000).toFixed(1)} s later`)
  await sleep(AFTER_MS)
  await load.stop()
  const finished = await Promise.all(streams)
  await Promise.all(strangers)
  await untilBooksAreQuiet(system.store, 15_000)

  const verdict = await judge(system.store, sender.attempts, funding, '', new Set())
  for (const name of ['lost', 'doubled', 'stuck', 'drift'] as const) showCases(name, verdict[name], system.logDir)
  const problems = [
    ...problemsOf(sender.attempts, finished),
    ...lateReturns(system, load.successes, backMs),
    ...[...system.gateways, system.worker].flatMap(({ service }) => service.crashes),
    ...(['lost', 'doubled', 'stuck', 'drift'] as const).flatMap((name) => (verdict[name].length > 0 ? [name] : [])),
  ]
  const statuses = Map.groupBy(sender.attempts, ({ status, end }) => String(status ?? end))
  say(`outage: ${[...statuses].map(([status, { length }]) => `${status}=${length}`).join(' ')}`)
  const whole = finished.filter(({ end }) => end === 'complete').length
  say(`outage: streams=${finished.length} finished=${whole} charged=${whole - verdict.lost.length}`)
  for (const problem of problems) say(`- ${problem}`)
  say(problems.length === 0 ? 'outage: ok' : 'outage: failed')
  return problems.length === 0
}

/** Returns the problems that a database outage does not excuse. */
function problemsOf(attempts: readonly Attempt[], streams: readonly Attempt[]): string[] {
  const wrong = attempts.filter(
    ({ end, status, retryAfter }) => end !== 'complete' && !(status === 503 && retryAfter !== undefined),
  )
  const broken = streams.filter(({ end }) => end !== 'complete')
  return [
    ...wrong.map((attempt) => `${attempt.end} ${attempt.status ?? ''} without need: ${JSON.stringify(attempt)}`),
    ...broken.map((attempt) => `a stream ended ${attempt.end}: ${JSON.stringify(attempt)}`),
    ...(attempts.some(({ status }) => status === 503) ? [] : ['no call noticed the outage: it was none']),
  ].slice(0, 10)
}

function lateReturns({ gateways }: ChaosSystem, successes: Map<string, number[]>, backMs: number): string[] {
  return gateways.flatMap(({ service: { name } }) => {
    const first = successes.get(name)?.find((atMs) => atMs > backMs)
    const afterMs = (first ?? Infinity) - backMs
    say(`outage: ${name} answered again after ${(afterMs / 1000).toFixed(2)} s`)
    return afterMs <= BACK_WITHIN_MS ? [] : [`${name} did not answer within ${BACK_WITHIN_MS} ms`]
  })
}

/** Short calls on every gateway, one after another. */
function startLoad(gateways: readonly GatewayProcess[], sender: Sender, project: TestProject, seed: number) {
  /** When calls that had begun a moment before were answered, by gateway. */
  const successes = new Map<string, number[]>(gateways.map(({ service }) => [service.name, []]))
  let isOver = false
  const callers = gateways.flatMap((gateway, g) =>
    Array.from({ length: CALLERS_PER_GATEWAY }, async (_, n) => {
      const random = createRandom(seed * 100 + g * CALLERS_PER_GATEWAY + n)
      while (!isOver) {
        const attempt = await sender.send(planOf('json', { tokens: 5, stream: n % 2 === 0 }, random), project, gateway)
        if (attempt.end === 'complete') successes.get(gateway.service.name)?.push(performance.now())
        await sleep(REST_MS)
      }
    }),
  )
  return {
    successes,
    async stop() {
      isOver = true
      await Promise.all(callers)
    },
  }
}
