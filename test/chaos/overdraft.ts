/**
 * 20,000 calls at the same moment, from two gateways that are killed meanwhile, on 50 wallets that can pay for a quarter
 * of them. No wallet is ever below zero, and no wallet's callers get more answers than it was filled for.
 */
import { createRandom } from '../support/random.ts'
import { auditOf } from '../support/ledger.ts'
import { walletOf, type TestProject } from '../support/world.ts'
import { gatherCrowd, type Crowd, type Tally } from './crowd.ts'
import { planOf, type Plan } from './kinds.ts'
import { costOf, type Funding } from './oracle.ts'
import { say, showCases } from './report.ts'
import { killGateways, meetAll, talliesOf, unexpectedIn } from './rush.ts'
import { startSystem, type ChaosSystem } from './system.ts'
import { fundedProject, untilBooksAreQuiet, watchWallets } from './wallets.ts'

const LEASE_MS = 6_000
const WALLETS = 50
const CALLS = 20_000
const PAID_PER_WALLET = 100
/** Each is a process: one may open fewer sockets than there are calls. */
const CROWDS = 4
const OUTPUT_TOKENS = 10
const KILLS_MAX = 8
const WITHIN_MS = 240_000
const PROGRESS_EVERY_MS = 5_000

export async function overdraft({ seed }: { seed: number }): Promise<boolean> {
  const system = await startSystem({ leaseMs: LEASE_MS, gateways: 2 })
  try {
    return await rush(system, seed)
  } finally {
    await system.close()
  }
}

async function rush(system: ChaosSystem, seed: number): Promise<boolean> {
  const startedMs = performance.now()
  const script = { tokens: OUTPUT_TOKENS, maxTokens: OUTPUT_TOKENS, directive: 'ttft=400' }
  const plan = planOf('overdraft', script, createRandom(seed))
  const price = costOf(plan.promptTokens, OUTPUT_TOKENS)
  const funded = BigInt(PAID_PER_WALLET) * price
  const projects: TestProject[] = []
  const funding: Funding[] = []
  for (let n = 0; n < WALLETS; n++) projects.push(await fundedProject(system, funded, funding))

  const watch = watchWallets(system.store, 100)
  const crowds = gather(system, projects, plan, seed)
  meetAll(system, crowds)
  const killing = killGateways(system, crowds, seed, KILLS_MAX)
  const progress = setInterval(
    () => say(`${Math.round((performance.now() - startedMs) / 1000)}s kills=${killing.times} looks=${watch.looks}`),
    PROGRESS_EVERY_MS,
  )
  const tallies = await talliesOf(crowds, WITHIN_MS)
  await killing.stop()
  clearInterval(progress)
  const open = await untilBooksAreQuiet(system.store, 5 * LEASE_MS)
  await watch.stop()
  return report(system, projects, { tallies, price, funded, open, kills: killing.times, below: watch.below })
}

function gather(system: ChaosSystem, projects: TestProject[], { body }: Plan, seed: number): Crowd[] {
  const wallets = projects.map(({ headers }) => headers)
  const callsPerWallet = CALLS / WALLETS / CROWDS
  return Array.from({ length: CROWDS }, (_, n) =>
    gatherCrowd({ seed: seed * 10 + n, wallets, callsPerWallet, body }, system.reaper),
  )
}

interface Result {
  tallies: Tally[]
  price: bigint
  funded: bigint
  open: number
  kills: number
  below: ReturnType<typeof watchWallets>['below']
}

async function report(system: ChaosSystem, projects: TestProject[], result: Result): Promise<boolean> {
  const { tallies, price, funded, below } = result
  const answeredBy = projects.map((_, n) => tallies.reduce((sum, { answered }) => sum + (answered[n] ?? 0), 0))
  const sum = (pick: (tally: Tally) => number) => tallies.reduce((total, tally) => total + pick(tally), 0)
  const answered = answeredBy.reduce((total, count) => total + count, 0)
  const [refused, unanswered, tries] = [sum((t) => t.refused), sum((t) => t.unanswered), sum((t) => t.tries)]
  const balances = await Promise.all(projects.map(async ({ id }) => (await walletOf(system.store, id)).balance))
  // Two looks at the same promise: what callers hold in hands, and what the wallets say was taken from them.
  const beyond = projects.filter((_, n) => {
    const delivered = BigInt(answeredBy[n] ?? 0) * price
    return delivered > funded || delivered > funded - (balances[n] ?? 0n)
  })
  const violations = await auditOf(system.store)
  const crashes = [...system.gateways, system.worker].flatMap(({ service }) => service.crashes)
  const unexpected = unexpectedIn(tallies)

  showCases('below zero', below, system.logDir)
  for (const problem of [
    ...violations,
    ...crashes,
    ...unexpected,
    ...beyond.map(({ id }) => `beyond its funding: ${id}`),
  ])
    say(`- ${problem}`)
  say(`tries=${tries} kills=${result.kills} unanswered=${unanswered} open_holds=${result.open}`)
  say(
    `overdraft: wallets=${WALLETS} calls=${CALLS} answered=${answered} refused=${refused} below_zero=${below.length} beyond_funding=${beyond.length}`,
  )
  const isSound = below.length + beyond.length + violations.length + crashes.length + unexpected.length === 0
  return isSound && result.open === 0 && answered > 0 && refused > 0 && answered + refused === CALLS && result.kills > 0
}
