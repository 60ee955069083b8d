/**
 * Plays requests of every kind against the gateway, with a simulated provider that counts and bills, and compares what
 * was charged with what was billed:
 *
 *   npm run exactness -- --calls 10000 [--seed 1] [--only "hidden reasoning"]
 */
import { parseArgs } from 'node:util'
import { openTestPostgres } from '../support/database.ts'
import { createRandom, type Random } from '../support/random.ts'
import { responsesBodyOf } from '../support/responses-as-chat.ts'
import type { TestProject } from '../support/world.ts'
import { perform, type Seen } from './caller.ts'
import { judge, type Verdict } from './judge.ts'
import { KINDS } from './kinds.ts'
import type { Kind, Trial } from './trial.ts'
import { openWorld, type ExactWorld } from './world.ts'

const AT_A_TIME = 24
const FAILURES_SHOWN = 20
/** So many calls have one among them by way of the Responses API. */
const RESPONSES_EVERY = 3

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
})

const postgres = await openTestPostgres()
process.env.PARLEY_TEST_POSTGRES_URL = postgres.url
const world = await openWorld()
try {
  const trials = drawTrials(createRandom(Number(values.seed)), Number(values.calls), values.only)
  const verdicts = await play(world, trials)
  print(`\n${trials.filter(({ asResponse }) => asResponse).length} by way of /v1/responses`)
  const complaints = await world.audit()
  process.exitCode = report(verdicts, complaints) ? 0 : 1
} finally {
  await world.close()
  await postgres.stop()
}

function drawTrials(random: Random, count: number, only: string | undefined): Trial[] {
  const kinds = KINDS.filter(({ name }) => only === undefined || name === only || name.startsWith(`${only},`))
  if (kinds.length === 0) throw new Error(`there is no kind "${only}": ${KINDS.map(({ name }) => name).join(', ')}`)
  const weights = kinds.reduce((sum, { weight }) => sum + weight, 0)
  // The rarest are the most costly: of those there is at least one, whatever is drawn.
  return Array.from({ length: count }, (_, n) => {
    const kind = kinds[n] ?? drawKind(kinds, random.next() * weights)
    const id = `t${n}`
    const drawn = kind.draw(random, id)
    const asResponse = n % RESPONSES_EVERY === 0 ? responsesBodyOf(drawn.body) : undefined
    return { id, kind: kind.name, ...drawn, asResponse }
  })
}

function drawKind(kinds: readonly Kind[], at: number): Kind {
  let left = at
  return kinds.find(({ weight }) => (left -= weight) < 0) ?? kinds[0]!
}

async function play(exact: ExactWorld, trials: readonly Trial[]): Promise<Verdict[]> {
  const seen = new Map<string, Seen>()
  // Before anything runs: the simulator counts tokens in this process, and a busy one keeps no connection in time.
  const poor = new Map<string, TestProject>()
  for (const { id, funds } of trials) if (funds !== undefined) poor.set(id, await exact.projectWith(funds))
  const waiting = trials.toReversed()
  const startedMs = performance.now()
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async () => {
      for (let trial = waiting.pop(); trial; trial = waiting.pop()) {
        seen.set(trial.id, await perform(exact, poor.get(trial.id) ?? exact.project, trial))
        if (seen.size % 1_000 === 0) tellProgress(seen.size, trials.length, startedMs)
      }
    }),
  )
  await exact.idle()
  const charges = await exact.chargesByMark()
  return trials.map((trial) =>
    judge(
      trial,
      seen.get(trial.id) ?? { status: undefined, chunks: 0 },
      exact.callsOf(trial.id),
      charges.get(trial.id) ?? [],
    ),
  )
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function tellProgress(done: number, all: number, startedMs: number): void {
  print(`${done} of ${all} calls, ${Math.round((performance.now() - startedMs) / 1_000)} s`)
}

function report(verdicts: readonly Verdict[], complaints: readonly string[]): boolean {
  const wrong = verdicts.filter(
    ({ isUndercharged, isOvercharged, isFree }) => isUndercharged || isOvercharged || isFree,
  )
  print('\nkind                                calls       billed      charged  under  over  free   worst')
  for (const [kind, of] of Map.groupBy(verdicts, (verdict) => verdict.kind)) print(row(kind, of))
  for (const { kind, id, billed, charged, what } of wrong.slice(0, FAILURES_SHOWN))
    print(`WRONG ${kind} ${id}: billed ${billed}, charged ${charged} (${what})`)
  for (const complaint of complaints) print(`AUDIT ${complaint}`)
  const [under, over, free] = countsOf(verdicts)
  print(
    `\nexactness: calls=${verdicts.length} undercharged=${under} overcharged=${over} free=${free} worst=${worstOf(verdicts)}`,
  )
  return wrong.length === 0 && complaints.length === 0
}

function row(kind: string, of: readonly Verdict[]): string {
  const dollars = (pick: (verdict: Verdict) => bigint) =>
    (Number(of.reduce((sum, verdict) => sum + pick(verdict), 0n)) / 1e9).toFixed(6).padStart(12)
  const counts = countsOf(of).map((count, n) => String(count).padStart(n === 0 ? 6 : 5))
  return `${kind.padEnd(34)} ${String(of.length).padStart(6)} ${dollars(({ billed }) => billed)} ${dollars(({ charged }) => charged)} ${counts.join(' ')} ${worstOf(of).padStart(7)}`
}

function countsOf(verdicts: readonly Verdict[]): [under: number, over: number, free: number] {
  const count = (is: (verdict: Verdict) => boolean) => verdicts.filter(is).length
  return [
    count(({ isUndercharged }) => isUndercharged),
    count(({ isOvercharged }) => isOvercharged),
    count(({ isFree }) => isFree),
  ]
}

/** Returns the worst deviation of our own counts, for calls without a reported bill. With a report, a difference is a failure. */
function worstOf(verdicts: readonly Verdict[]): string {
  const worst = verdicts.reduce((most, { deviationPpm }) => Math.max(most, deviationPpm), 0)
  return `${(worst / 10_000).toFixed(2)}%`
}
