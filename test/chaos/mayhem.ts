/** Everything goes wrong at once, for a while; then it heals, and not a nano may be missing. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../support/random.ts'
import type { TestProject } from '../support/world.ts'
import { startFaults, type RunningFaults } from './start-faults.ts'
import { startPayer, type Payer } from './payer.ts'
import { judgeBudgets, setBudget, type Budget } from './budget-oracle.ts'
import { judge, type Case, type Funding, type Verdict } from './oracle.ts'
import { judgeReaders, startReaders, type ClicksVerdict } from './readers.ts'
import { logLinesWith, say, showCases } from './report.ts'
import { startSystem, type ChaosSystem } from './system.ts'
import { startTraffic, type Attempt, type Traffic } from './traffic.ts'
import {
  RICH_NANOS,
  fund,
  fundedProject,
  limitConcurrency,
  patiently,
  untilBooksAreQuiet,
  watchWallets,
} from './wallets.ts'

/** Short, so that pauses outlast it and a run need not wait a minute for its end. */
const LEASE_MS = 6_000
/** src/store/database.ts gives up a statement after this. */
const QUERY_TIMEOUT_MS = 8_000
/** After this every lease is over, and every gateway has looked for holds that no call of its own belongs to. */
const SETTLED_WITHIN_MS = 30_000
const PROGRESS_EVERY_MS = 5_000
const TOP_UP_EVERY_MS = 1_000
const CALLERS = 28
const KEYED_CALLERS = 6
const TIGHT_NANOS = 3_000_000n
const BUDGET_NANOS = 1_000_000n
/** No fault explains these: every call is valid and has a valid key pair. */
const NEVER = new Set([400, 401, 404, 405, 413, 415, 422, 500])

export async function mayhem({ seconds, seed }: { seconds: number; seed: number }): Promise<boolean> {
  const startedMs = performance.now()
  const system = await startSystem({ leaseMs: LEASE_MS, gateways: 2 })
  try {
    const clocks = system.hasFakeTime ? 'on' : 'off (libfaketime is not installed)'
    say(`chaos: seed ${seed}, ${seconds} s, clock jumps ${clocks}`)
    return await rage(system, seconds, seed, () => `${((performance.now() - startedMs) / 1000).toFixed(1)}s`)
  } finally {
    await system.close()
  }
}

async function rage(system: ChaosSystem, seconds: number, seed: number, elapsed: () => string): Promise<boolean> {
  const bank = await openBank(system)
  const watch = watchWallets(system.store, 250)
  const traffic = startTraffic({
    seed,
    gateways: system.gateways,
    projects: bank.projects,
    callers: CALLERS,
    keyedProject: bank.keyed,
    keyedCallers: KEYED_CALLERS,
  })
  const readers = await startReaders(system, bank.keyed, seed)
  const faults = startFaults({ seed, system, leaseMs: LEASE_MS, queryTimeoutMs: QUERY_TIMEOUT_MS })
  const topUps = startTopUps(system, bank, seed)
  const payer = startPayer(system.store, bank.cardId, seed, bank.funding)
  const progress = setInterval(() => say(`${elapsed()} ${stateOf(system, traffic, faults)}`), PROGRESS_EVERY_MS)
  await sleep(seconds * 1_000)

  say(`${elapsed()} healing`)
  await Promise.all([faults.heal(), traffic.stop(), readers.stop(), topUps.stop(), payer.stop()])
  const open = await untilBooksAreQuiet(system.store, SETTLED_WITHIN_MS)
  clearInterval(progress)
  await watch.stop()
  say(`${elapsed()} auditing, ${open} holds open`)
  const verdict = await judge(
    system.store,
    traffic.attempts,
    bank.funding,
    bank.keyed.id,
    bank.tightIds.union(new Set([bank.cardId, bank.budget.subject])),
  )
  const { exceeded, drift } = await judgeBudgets(system.store, [bank.budget], () => false)
  verdict.drift.push(...drift.map((what) => ({ what })))
  say(`${elapsed()} judged ${traffic.attempts.length} calls`)
  const over = { negative: watch.below, exceeded: exceeded.map((what) => ({ what })) }
  const clicks = await judgeReaders(system.store, readers.follows)
  return report(system, traffic, faults, payer, { ...verdict, clicks }, over, seed)
}

interface Bank {
  /** All credit that was put into the wallets. */
  funding: Funding[]
  projects: TestProject[]
  /** Projects that run dry again and again. */
  tightIds: Set<string>
  /** The one that is rich and has a budget, and the budget, which is raised again and again. */
  budgeted: TestProject
  budget: Budget
  /** The one whose credit is paid by card, and taken back again and again. */
  cardId: string
  /** The one whose callers retry under an Idempotency-Key. */
  keyed: TestProject
}

async function openBank(system: ChaosSystem): Promise<Bank> {
  const funding: Funding[] = []
  const funded = (nanos: bigint) => fundedProject(system, nanos, funding)
  const rich = [await funded(RICH_NANOS), await funded(RICH_NANOS)]
  const limited = await funded(RICH_NANOS)
  await limitConcurrency(system.store, limited.id, 4)
  const tight = [await funded(TIGHT_NANOS), await funded(TIGHT_NANOS)]
  const byCard = await funded(0n)
  const budgeted = await funded(RICH_NANOS)
  const budget: Budget = { scope: 'project', subject: budgeted.id, period: 'total', nanos: BUDGET_NANOS }
  await setProjectBudget(system, budgeted, budget.nanos)
  return {
    funding,
    // The one by card is as busy as four: what was paid should be spent when it is taken back.
    projects: [...rich, limited, ...tight, budgeted, byCard, byCard, byCard, byCard],
    budgeted,
    budget,
    tightIds: new Set(tight.map(({ id }) => id)),
    cardId: byCard.id,
    keyed: await funded(RICH_NANOS),
  }
}

function setProjectBudget({ store }: ChaosSystem, { id, publisherId }: TestProject, nanos: bigint): Promise<void> {
  return patiently(() => setBudget(store, { publisherId, projectId: id }, 'project', id, { total: nanos }))
}

/** Keeps the poor projects poor, but not out of business, and so the one with a budget. */
function startTopUps(
  system: ChaosSystem,
  { tightIds, funding, budgeted, budget }: Bank,
  seed: number,
): { stop(): Promise<void> } {
  const random = createRandom(seed + 7)
  let isOver = false
  const loop = (async () => {
    while (!isOver) {
      await sleep(TOP_UP_EVERY_MS)
      await fund(system.store, random.pick([...tightIds]), BigInt(200_000 + random.int(2_000_000)), funding)
      budget.nanos += BigInt(random.int(200_000))
      await setProjectBudget(system, budgeted, budget.nanos)
    }
  })()
  return {
    async stop() {
      isOver = true
      await loop
    },
  }
}

/** Says everything, with the evidence first and the verdict in the last line; returns whether it is good. */
function report(
  system: ChaosSystem,
  traffic: Traffic,
  { counts }: RunningFaults,
  payer: Payer,
  verdict: Verdict & { clicks: ClicksVerdict },
  over: Record<'negative' | 'exceeded', readonly Case[]>,
  seed: number,
): boolean {
  const { lost, doubled, stuck, drift, clicks } = verdict
  const unexpected = unexpectedOf(traffic.attempts)
  const crashes = [...system.gateways, system.worker, system.simulator].flatMap(({ service }) => service.crashes)
  const faulty = {
    lost,
    doubled,
    negative: over.negative,
    exceeded: over.exceeded,
    stuck,
    drift,
    clicks_lost: clicks.lost,
    clicks_doubled: clicks.doubled,
    overspent: clicks.overspent,
  }
  for (const [name, cases] of Object.entries({ ...faulty, unexpected })) showCases(name, cases, system.logDir)
  for (const crash of crashes) say(crash)
  const alarms = logLinesWith(system.logDir, 'the ledger is broken')
  for (const alarm of alarms) say(`false alarm: ${alarm}`)

  const kills = counts.gatewayKills + counts.postgresKills + counts.workerKills
  const calls = traffic.attempts.length
  const limited = traffic.attempts.filter(({ errorCode }) => errorCode?.startsWith('budget_')).length
  say(`ends: ${endsOf(traffic.attempts)}`)
  say(
    `seen: ${listOf({ ...verdict.seen, limited })} unexpected=${unexpected.length} crashes=${crashes.length} alarms=${alarms.length}`,
  )
  say(`card: ${listOf(payer.counts)}`)
  say(`clicks: ${listOf(clicks.seen)}`)
  const { gatewayKills, postgresKills, workerKills, pauses, cuts, clockJumps } = counts
  say(
    `gateway_kills=${gatewayKills} pg_kills=${postgresKills} worker_kills=${workerKills} pauses=${pauses} cuts=${cuts} clock_jumps=${clockJumps} seed=${seed}`,
  )
  const numbers = Object.fromEntries(Object.entries(faulty).map(([name, cases]) => [name, cases.length]))
  say(`chaos: ${listOf({ calls, kills, ...numbers })}`)
  const hasDoneSomething = calls > 100 && traffic.answered > 50 && kills > 0 && payer.counts.owed > 0 && limited > 0
  const hasClicked = clicks.seen.led > 20 && clicks.seen.surely > 5 && clicks.seen.paid > 10
  const isCalm = unexpected.length + crashes.length + alarms.length === 0
  return Object.values(numbers).every((count) => count === 0) && isCalm && hasDoneSomething && hasClicked
}

function unexpectedOf(attempts: readonly Attempt[]): Case[] {
  return attempts
    .filter(({ status, retryAfter }) => NEVER.has(status ?? 0) || (status === 503 && retryAfter === undefined))
    .map((attempt) => ({ what: `status ${attempt.status} (${attempt.errorCode})`, attempt }))
}

function stateOf(system: ChaosSystem, { attempts, answered, running }: Traffic, { counts }: RunningFaults): string {
  const services = [...system.gateways, system.worker].map(({ service }) => service)
  return [
    `calls=${attempts.length} answered=${answered} running=${running}`,
    `kills=${counts.gatewayKills}+${counts.postgresKills}+${counts.workerKills}`,
    `pauses=${counts.pauses} cuts=${counts.cuts}`,
    ...services.map(({ name, state }) => `${name}:${state}`),
    `postgres:${system.postgres.state}`,
  ].join(' ')
}

function endsOf(attempts: readonly Attempt[]): string {
  const ends = Map.groupBy(attempts, ({ end, status }) => (end === 'refused' ? `${end}_${status}` : end))
  return listOf(Object.fromEntries([...ends].map(([end, { length }]) => [end, length])))
}

function listOf(numbers: Record<string, number>): string {
  return Object.entries(numbers)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}
