/**
 * 20,000 calls at the same moment with 50 key pairs and for 500 end users, through two gateways that are killed and paused
 * meanwhile, as their connections to PostgreSQL are. There is credit for all of them, and there are budgets: of some key pairs,
 * of every end user, of some end users alone and of one publisher. Not one is exceeded, and none is left over that was asked for.
 */
import { sql } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDigestKeys } from '../../src/gateway/digest-keys.ts'
import { createEndUsers } from '../../src/gateway/end-users.ts'
import type { Store } from '../../src/store/database.ts'
import { auditOf } from '../support/ledger.ts'
import { createRandom } from '../support/random.ts'
import { addKeyPair, addProject, type TestProject } from '../support/world.ts'
import { judgeBudgets, setBudget, type Budget } from './budget-oracle.ts'
import { ask } from './caller.ts'
import { gatherCrowd, type Crowd, type Tally } from './crowd.ts'
import { planOf, type Plan } from './kinds.ts'
import { costOf } from './oracle.ts'
import { say } from './report.ts'
import { killGateways, meetAll, portsOf, repeat, talliesOf, unexpectedIn, type Repeated } from './rush.ts'
import { startSystem, type ChaosSystem } from './system.ts'
import { RICH_NANOS, fund, patiently, untilBooksAreQuiet } from './wallets.ts'

const LEASE_MS = 6_000
const PROJECTS = 10
const PAIRS_EACH = 5
const END_USERS_EACH = 50
/** Each end user calls with two of the pairs. */
const CALLS_WITH_EACH = 20
const CALLS = PROJECTS * END_USERS_EACH * 2 * CALLS_WITH_EACH
/** Each is a process: one may open fewer sockets than there are calls. */
const CROWDS = 4
const OUTPUT_TOKENS = 10
const KILLS_MAX = 4
const CUT_EVERY_MS = 1_500
const PAUSE_AFTER_MS = 5_000
const PAUSES_MAX = 3
const WITHIN_MS = 240_000
const PROGRESS_EVERY_MS = 5_000
const DRAINED_AT_ONCE = 24
const DRAINING_CALLS_MAX = 500
const PROBLEMS_SHOWN = 20

export async function budgets({ seed }: { seed: number }): Promise<boolean> {
  const system = await startSystem({ leaseMs: LEASE_MS, gateways: 2 })
  try {
    return await rush(system, seed)
  } finally {
    await system.close()
  }
}

async function rush(system: ChaosSystem, seed: number): Promise<boolean> {
  const startedMs = performance.now()
  const plans = [400, 0].map((ttft) =>
    planOf(
      'budgets',
      { tokens: OUTPUT_TOKENS, maxTokens: OUTPUT_TOKENS, directive: `ttft=${ttft}` },
      createRandom(seed),
    ),
  ) as [Plan, Plan]
  const town = await found(system, costOf(plans[0].promptTokens, OUTPUT_TOKENS))

  const crowds = gather(system, town, plans[0], seed)
  meetAll(system, crowds)
  const faults = [killGateways(system, crowds, seed, KILLS_MAX), cutConnections(system), pauseGateways(system)] as const
  const [kills, cuts] = faults
  const progress = setInterval(
    () => say(`${Math.round((performance.now() - startedMs) / 1000)}s kills=${kills.times} cuts=${cuts.times}`),
    PROGRESS_EVERY_MS,
  )
  const tallies = await talliesOf(crowds, WITHIN_MS)
  await Promise.all(faults.map((fault) => fault.stop()))
  const undrained = await drain(system, town, plans[1])
  clearInterval(progress)
  const open = await untilBooksAreQuiet(system.store, 5 * LEASE_MS)
  return report(system, town, { tallies, undrained, open, kills: kills.times, cuts: cuts.times })
}

interface Town {
  budgets: Budget[]
  callers: Headers[]
  /** Each budget with the headers of a caller that can use it up, because no other budget refuses that caller first. */
  drains: { budget: Budget; headers: Headers }[]
}

type Headers = Record<string, string>

async function found(system: ChaosSystem, price: bigint): Promise<Town> {
  const { store, secrets } = system
  const town: Town = { budgets: [], callers: [], drains: [] }
  const digestKeys = createDigestKeys(store.db, secrets)
  await digestKeys.load()
  const { digestOf } = createEndUsers(store.db, digestKeys)
  const [first, ...others] = await addProjects(system)
  if (first) await limitPublisher(store, town, first, 600n * price + 11n)
  for (const project of [first!, ...others]) {
    // Calls that the publisher's budget refuses use up no other budget.
    const mayUseUp = project.publisherId !== first?.publisherId
    const pairs = await addPairs(system, project)
    await limitPairs(store, town, project, pairs, 120n * price + 13n, mayUseUp)
    const endUsers = Array.from({ length: END_USERS_EACH }, (_, n) => {
      return { name: `user ${n}`, id: digestOf(project.id, `user ${n}`) }
    })
    await limitEndUsers(store, town, { project, pairs, endUsers, price, mayUseUp })
    for (const [n, { name }] of endUsers.entries())
      for (const turn of [0, 1])
        town.callers.push({ ...pairs[(n + turn) % pairs.length]!.headers, 'x-end-user-id': name })
  }
  return town
}

/** The first two are of one publisher. */
async function addProjects({ store, secrets }: ChaosSystem): Promise<TestProject[]> {
  const projects: TestProject[] = []
  for (let n = 0; n < PROJECTS; n++) {
    const publisherId = n === 1 ? projects[0]?.publisherId : undefined
    const project = await addProject(store, secrets, { credits: '0', ...(publisherId && { publisherId }) })
    await fund(store, project.id, RICH_NANOS, [])
    projects.push(project)
  }
  return projects
}

interface Pair {
  id: string
  headers: Headers
}

async function addPairs({ store, secrets }: ChaosSystem, project: TestProject): Promise<Pair[]> {
  const keys = [project]
  const more = Array.from({ length: PAIRS_EACH - 1 }, () => addKeyPair(store, secrets, project.id))
  const all = [...keys, ...(await Promise.all(more))]
  const rows = await store.db
    .selectFrom('key_pairs')
    .select(['id', 'publishable_key'])
    .where('project_id', '=', project.id)
    .execute()
  return all.map(({ headers, publishableKey }) => {
    return { headers, id: rows.find((row) => row.publishable_key === publishableKey)!.id }
  })
}

async function limitPublisher(store: Store, town: Town, project: TestProject, nanos: bigint): Promise<void> {
  const { publisherId, headers } = project
  await setBudget(store, { publisherId, projectId: null }, 'publisher', publisherId, { month: nanos })
  const budget: Budget = { scope: 'publisher', subject: publisherId, period: 'month', nanos }
  town.budgets.push(budget)
  town.drains.push({ budget, headers })
}

/** Three of five pairs, each for another time. */
async function limitPairs(
  store: Store,
  town: Town,
  { publisherId, id: projectId }: TestProject,
  pairs: readonly Pair[],
  nanos: bigint,
  mayUseUp: boolean,
): Promise<void> {
  for (const [n, period] of (['day', 'month', 'total'] as const).entries()) {
    const { id: subject, headers } = pairs[n]!
    await setBudget(store, { publisherId, projectId }, 'key_pair', subject, { [period]: nanos })
    const budget: Budget = { scope: 'key_pair', subject, period, nanos }
    town.budgets.push(budget)
    // Not for an end user, who might have less.
    if (mayUseUp) town.drains.push({ budget, headers })
  }
}

interface Crew {
  project: TestProject
  pairs: readonly Pair[]
  endUsers: readonly { name: string; id: string }[]
  price: bigint
  mayUseUp: boolean
}

/** A day's for each, and every tenth has less, in total. */
async function limitEndUsers(
  store: Store,
  town: Town,
  { project, pairs, endUsers, price, mayUseUp }: Crew,
): Promise<void> {
  const of = { publisherId: project.publisherId, projectId: project.id }
  const everyones = 16n * price + 7n
  const own = 9n * price + 5n
  await setBudget(store, of, 'end_users', project.id, { day: everyones })
  for (const [n, { name, id: subject }] of endUsers.entries()) {
    const isOwn = n % 10 === 0
    if (isOwn) await setBudget(store, of, 'end_user', subject, { total: own })
    const daily: Budget = { scope: 'end_user', subject, period: 'day', nanos: everyones }
    const budget: Budget = isOwn ? { scope: 'end_user', subject, period: 'total', nanos: own } : daily
    town.budgets.push(...new Set([daily, budget]))
    // The last pair has no budget.
    if (mayUseUp) town.drains.push({ budget, headers: { ...pairs.at(-1)?.headers, 'x-end-user-id': name } })
  }
}

function gather(system: ChaosSystem, { callers }: Town, { body }: Plan, seed: number): Crowd[] {
  const callsPerWallet = CALLS_WITH_EACH / CROWDS
  return Array.from({ length: CROWDS }, (_, n) =>
    gatherCrowd({ seed: seed * 10 + n, wallets: callers, callsPerWallet, body }, system.reaper),
  )
}

/** Ends what the gateways have open at PostgreSQL, in the middle of whatever it does. */
function cutConnections({ store }: ChaosSystem): Repeated {
  const cut = async () => {
    const { rows } = await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'parley gateway' and state = 'active'`.execute(store.db)
    return rows.length
  }
  return repeat(CUT_EVERY_MS, Number.POSITIVE_INFINITY, () => patiently(cut))
}

/** Each for longer than its lease: its calls are swept, and it settles them late. */
function pauseGateways({ gateways }: ChaosSystem): Repeated {
  return repeat(PAUSE_AFTER_MS, PAUSES_MAX, async () => {
    const chosen = gateways.find(({ service }) => service.state === 'up')?.service
    if (!chosen) return 0
    chosen.pause()
    await sleep(LEASE_MS + 2_500)
    chosen.resume()
    return 1
  })
}

/** Asks one by one until a budget refuses. Returns those that never did. */
async function drain(system: ChaosSystem, { drains }: Town, { body }: Plan): Promise<Budget[]> {
  const undrained: Budget[] = []
  const queue = drains.values()
  const work = async () => {
    for (const { budget, headers } of queue) {
      let isUsedUp = false
      for (let n = 0; n < DRAINING_CALLS_MAX && !isUsedUp; n++) {
        const ports = portsOf(system)
        const answer = await ask({ port: ports[n % ports.length]!, headers, body, withinMs: 20_000 })
        isUsedUp = answer.errorCode === 'budget_used_up'
        if (answer.end !== 'complete' && !isUsedUp) await sleep(100)
      }
      if (!isUsedUp) undrained.push(budget)
    }
  }
  await Promise.all(Array.from({ length: DRAINED_AT_ONCE }, work))
  return undrained
}

interface Result {
  tallies: Tally[]
  undrained: Budget[]
  open: number
  kills: number
  cuts: number
}

async function report(system: ChaosSystem, town: Town, result: Result): Promise<boolean> {
  const { tallies, undrained, open, kills, cuts } = result
  const asked = new Set(town.drains.map(({ budget }) => budget))
  const verdict = await judgeBudgets(system.store, town.budgets, (budget) => asked.has(budget))
  const unused = [...verdict.unused, ...undrained.map(({ scope, subject }) => `${scope} ${subject} was never refused`)]
  const { exceeded, drift } = verdict
  const violations = await auditOf(system.store)
  const crashes = [...system.gateways, system.worker].flatMap(({ service }) => service.crashes)
  const problems = [...exceeded, ...unused, ...drift, ...violations, ...crashes, ...unexpectedIn(tallies)]
  for (const problem of problems.slice(0, PROBLEMS_SHOWN)) say(`- ${problem}`)

  const sum = (pick: (tally: Tally) => number) => tallies.reduce((total, tally) => total + pick(tally), 0)
  const answered = sum((tally) => tally.answered.reduce((total, count) => total + (count ?? 0), 0))
  const [refused, tries] = [sum((tally) => tally.refused), sum((tally) => tally.tries)]
  const late = await lateCharges(system.store)
  say(`tries=${tries} kills=${kills} cuts=${cuts} late=${late} open_holds=${open} problems=${problems.length}`)
  say(
    `budgets: budgets=${town.budgets.length} calls=${CALLS} answered=${answered} refused=${refused} exceeded=${exceeded.length} unused=${unused.length} drift=${drift.length}`,
  )
  const hasHappened = answered > 0 && refused > 0 && answered + refused === CALLS && kills > 0 && cuts > 0 && late > 0
  return problems.length === 0 && open === 0 && hasHappened
}

async function lateCharges(store: Store): Promise<number> {
  const late = await store.db.selectFrom('transfers').select('id').where('kind', '=', 'late_charge').execute()
  return late.length
}
