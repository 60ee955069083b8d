import { BEATS_PER_LEASE, LEASE_MS } from '../../src/rules/limits.ts'
import { createRandom, type Random } from '../support/random.ts'
import { checkBooks } from './call-invariants.ts'
import { createCallRecord, nameIn, type CallRecord } from './call-record.ts'
import { STATEMENT, type Statement } from './memory-ledger.ts'
import { setLimit } from './memory-limits.ts'
import { addWallet } from './memory-tables.ts'
import { drawScenario, type CallPlan, type Mishap, type PaymentEvent, type Scenario } from './scenario.ts'
import type { VirtualTime } from './virtual-time.ts'
import { createWorld, type World } from './world.ts'

export interface SimulateOptions {
  statement?: Statement
  isTraced?: boolean
}

/** Holds that are open when the last call has ended get this long: delayed statements arrive, leases run out, and the
 * sweeper comes round. */
const AFTERMATH_MS = 2 * LEASE_MS
/** No call and no pause is this long: whatever runs by then is stuck. */
const LONGEST_MS = 30 * 60_000
const SWEEP_EVERY_MS = LEASE_MS / BEATS_PER_LEASE

/** Runs one seed, from the first call to the last sweep, and returns the world that it leaves behind. */
export async function simulate(
  seed: number,
  time: VirtualTime,
  { statement, isTraced }: SimulateOptions = {},
): Promise<World> {
  const random = createRandom(seed)
  return simulateScenario(drawScenario(random), random, time, { statement, isTraced })
}

/** The same for a scenario that was not drawn. */
export async function simulateScenario(
  scenario: Scenario,
  random: Random,
  time: VirtualTime,
  { statement = STATEMENT, isTraced = false }: SimulateOptions = {},
): Promise<World> {
  const world = createWorld({ random, ...scenario, statement, isTraced })
  const onRejection = (reason: unknown) => world.report(`a promise was rejected and nobody cared: ${String(reason)}`)
  process.on('unhandledRejection', onRejection)
  time.use(world.clock, random)
  try {
    await play(world, scenario)
  } finally {
    process.off('unhandledRejection', onRejection)
  }
  for (const record of world.records.values()) if (!isOver(record)) world.report(`${record.id} never ended`)
  for (const { process, attemptsInFlight } of world.livingGateways())
    if (attemptsInFlight !== 0) world.report(`${process.name}: ${attemptsInFlight} attempts never ended`)
  checkBooks([...world.records.values()], world.bank.tables, world.report)
  return world
}

async function play(world: World, scenario: Scenario): Promise<void> {
  const { clock, bank, outside, store } = world
  for (const [n, { nanos, concurrentCalls, limits }] of scenario.wallets.entries()) {
    const projectId = projectOf(n)
    addWallet(bank.tables, projectId, nanos, { concurrentCalls })
    for (const { who, ...limit } of limits)
      setLimit(bank.tables, { ...limit, projectId, subject: who === undefined ? projectId : nameIn(projectId, who) })
  }
  for (let slot = 0; slot < scenario.gateways; slot++) world.startGateway(slot)
  let expected = scenario.calls.length
  for (const plan of scenario.calls)
    clock.schedule(outside, plan.atMs, 'arrival', () => {
      expected -= 1
      placeCall(world, plan)
    })
  for (const [n, event] of scenario.payments.entries()) pay(world, event, n)
  for (const mishap of scenario.mishaps) clock.schedule(outside, mishap.atMs, 'arrival', () => befall(world, mishap))

  const isBusy = () => expected > 0 || ![...world.records.values()].every(isOver)
  let endMs = LONGEST_MS
  const keepSweeping = () => {
    try {
      bank.sweep()
    } catch (error) {
      world.report(`the sweep fails: ${String(error)}`)
    }
    if (isBusy()) endMs = clock.nowMs + AFTERMATH_MS
    else if (bank.tables.holds.size === 0 && world.link.underWay === 0) endMs = clock.nowMs
    clock.schedule(store, SWEEP_EVERY_MS, 'timer', keepSweeping)
  }
  keepSweeping()
  await clock.run(() => clock.nowMs >= Math.min(endMs, LONGEST_MS))
}

function placeCall(world: World, plan: CallPlan): void {
  const { clock, records, trace, outside } = world
  const gateway = world.gatewayIn(plan.gateway)
  trace(outside, `${describePlan(plan)}${gateway ? '' : ': nobody answers'}`)
  if (!gateway) return
  const record = createCallRecord(plan, projectOf(plan.wallet), gateway.process)
  records.set(record.id, record)
  clock.schedule(gateway.process, 0, 'arrival', () => void gateway.serve(record))
}

function pay({ clock, store, bank }: World, event: PaymentEvent, n: number): void {
  const projectId = projectOf(event.wallet)
  const reference = `payment ${n + 1}`
  const apply = () => {
    if (event.kind === 'topup') bank.credit(projectId, event.nanos, reference)
    else bank.takeBack(projectId, event.percent, reference)
  }
  const tell = (atMs: number, work: () => void) => {
    clock.schedule(store, atMs, 'arrival', work)
    if (event.isToldTwice) clock.schedule(store, atMs + 700, 'arrival', work)
  }
  tell(event.atMs, apply)
  if (event.kind === 'chargeback' && event.wonAfterMs !== undefined)
    tell(event.atMs + 1_000 + event.wonAfterMs, () => bank.giveBack(projectId, reference))
}

function befall(world: World, mishap: Mishap): void {
  const { clock, outside, trace } = world
  const gateway = world.gatewayIn(mishap.gateway)
  if (!gateway || gateway.process.state !== 'running') return
  const { process } = gateway
  switch (mishap.kind) {
    case 'crash': {
      clock.crash(process)
      trace(process, 'crashes')
      const { restartsAfterMs: ms } = mishap
      if (ms !== undefined) clock.schedule(outside, ms, 'arrival', () => world.startGateway(mishap.gateway))
      break
    }
    case 'pause':
      clock.pause(process)
      trace(process, `is paused for ${mishap.forMs} ms`)
      clock.schedule(outside, mishap.forMs, 'arrival', () => {
        trace(process, 'wakes up')
        clock.resume(process)
      })
      break
    case 'shut_down':
      trace(process, 'is told to end')
      clock.schedule(process, 0, 'arrival', () => void gateway.shutDown())
  }
}

function isOver({ end, process }: CallRecord): boolean {
  return end !== undefined || process.state === 'crashed'
}

function projectOf(wallet: number): string {
  return `wallet ${wallet + 1}`
}

function describePlan(plan: CallPlan): string {
  const { name, wallet, gateway, model, maxTokens, key, deployments, hangsUpAfterMs } = plan
  const parts = [
    `${name}: ${projectOf(wallet)} calls ${model} through slot ${gateway + 1}`,
    `${deployments} deployments`,
  ]
  if (maxTokens !== undefined) parts.push(`max_tokens ${maxTokens}`)
  if (key !== undefined) parts.push(key)
  if (hangsUpAfterMs !== undefined) parts.push(`hangs up after ${hangsUpAfterMs} ms`)
  return parts.join(', ')
}
