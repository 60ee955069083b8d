/**
 * Compares the cost of a call through Parley with that through nothing at all, a bare pass-through, an earlier revision of
 * Parley and Portkey's gateway: the same load on the same simulated provider, in turns, in one run, because machines differ
 * and change.
 */
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freePort } from '../test/support/free-port.ts'
import { seedLedger } from './audit-seed.ts'
import { BARS, HELD_CASE, verdictOf, type Sample, type Verdict } from './calls/bars.ts'
import { bare } from './calls/bare.ts'
import { CASES, type Case } from './calls/cases.ts'
import { chartOf } from './calls/chart.ts'
import { checkoutOf, ROOT } from './calls/checkout.ts'
import { direct } from './calls/direct.ts'
import { gateway } from './calls/gateway.ts'
import { HELD_LEVELS, kbPerHeldStream } from './calls/held-streams.ts'
import { measure, warmUp } from './calls/measure.ts'
import { writePage } from './calls/page.ts'
import { portkey, PORTKEY_VERSION } from './calls/portkey.ts'
import { startServer } from './calls/processes.ts'
import { rotated } from './calls/statistics.ts'
import { NotHere, SUBJECTS, type Running, type Subject, type SubjectName, type Surroundings } from './calls/subject.ts'
import { barsTable, callsTable, memoryTable } from './calls/table.ts'

interface Entrant {
  subject: Subject
  running: Running
}

const BEFORE = '638a0bb'
/** The contents of the database of `full`. They take minutes to write, so it is measured only when asked for. */
const HISTORY = { calls: 10_000_000, wallets: 100_000, days: 90 }
/** Most of what Node compiles, it has compiled after these. */
const WARM_UP_ROUNDS = 2
const USUAL = SUBJECTS.filter((name) => name !== 'full')
/** Subjects that can be asked to hold streams: the memory of a gateway is not compared to that of the others. */
const HOLDERS: ReadonlySet<SubjectName> = new Set(['bare', 'parley', 'before'])

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: USUAL.join(',') },
    cases: { type: 'string', default: [...CASES.map(({ name }) => name), HELD_CASE].join(',') },
    rounds: { type: 'string', default: '3' },
    calls: { type: 'string' },
    seconds: { type: 'string' },
    before: { type: 'string', default: BEFORE },
    'no-portkey': { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
  },
})
const rounds = wholeNumber('rounds', values.rounds)
const extent = {
  calls: values.calls === undefined ? undefined : wholeNumber('calls', values.calls),
  seconds: values.seconds === undefined ? undefined : wholeNumber('seconds', values.seconds),
}
const subjectNames = namesIn(values.only, SUBJECTS).filter((name) => name !== 'portkey' || !values['no-portkey'])
const caseNames = namesIn(values.cases, [...CASES.map(({ name }) => name), HELD_CASE])
const cases = CASES.filter(({ name }) => caseNames.includes(name))

const ending = new AsyncDisposableStack()
let isInterrupted = false
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)
  process.once(signal, () => {
    isInterrupted = true
    say('ending what was started')
    void ending.disposeAsync().finally(() => process.exit(code))
  })

try {
  const verdicts = await run()
  if (values.strict && verdicts.some(({ found, isReached }) => found && !isReached)) process.exitCode = 1
} catch (error) {
  // After an interruption it is clear why calls failed. The handler above ends the process when everything is undone.
  if (isInterrupted) await new Promise(() => undefined)
  throw error
} finally {
  await ending.disposeAsync()
}

async function run(): Promise<Verdict[]> {
  const surroundings: Surroundings = { providerUrl: await startProvider(), ending, say }
  const entrants = await startAll(surroundings)
  const samples: Sample[] = []
  for (let n = 1; n <= WARM_UP_ROUNDS; n++)
    for (const { subject, running } of entrants)
      for (const work of cases.filter((candidate) => canDo(subject.name, candidate))) {
        say(`warming up ${n}/${WARM_UP_ROUNDS}  ${work.name.padEnd(12)} ${subject.name}`)
        await warmUp(running, work, extent)
      }
  for (let round = 1; round <= rounds; round++) {
    for (const [n, work] of cases.entries())
      for (const { subject, running } of rotated(entrants, round + n).filter((one) => canDo(one.subject.name, work))) {
        const sample = { round, case: work.name, subject: subject.name, ...(await measure(running, work, extent)) }
        samples.push(sample)
        sayMeasured(sample)
      }
    if (caseNames.includes(HELD_CASE)) samples.push(...(await holdStreams(entrants, round)))
  }
  return report(inOrder(samples), entrants)
}

async function startProvider(): Promise<string> {
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const command = [process.execPath, join(ROOT, 'simulator/main.ts'), '--port', port]
  await startServer(ending, command, { readyUrl: `${url}/_simulator/stats` })
  return url
}

async function startAll(surroundings: Surroundings): Promise<Entrant[]> {
  const known: Record<SubjectName, () => Subject> = {
    direct: () => direct(surroundings),
    bare: () => bare(surroundings),
    parley: () => gateway('parley', surroundings, { checkout: async () => ROOT }),
    before: () => gateway('before', surroundings, { checkout: () => checkoutOf(values.before, surroundings) }),
    full: () => gateway('full', surroundings, { checkout: async () => ROOT, fill: (url) => seedLedger(url, HISTORY) }),
    portkey: () => portkey(surroundings),
  }
  const entrants: Entrant[] = []
  for (const name of subjectNames) {
    const subject = known[name]()
    try {
      entrants.push({ subject, running: await subject.start() })
    } catch (error) {
      if (!(error instanceof NotHere)) throw error
      say(`without ${name}: ${error.message}`)
    }
  }
  return entrants
}

function canDo(subject: SubjectName, { only }: Case): boolean {
  return only?.includes(subject) ?? true
}

/** Each on a process of its own that is started for it: one that has once held as many does not have to grow again. */
async function holdStreams(entrants: readonly Entrant[], round: number): Promise<Sample[]> {
  const samples: Sample[] = []
  const burst = CASES.find(({ name }) => name === 'burst')
  if (!burst) throw new Error('there is no case to warm up with')
  for (const { subject } of rotated(entrants, round).filter((one) => HOLDERS.has(one.subject.name))) {
    const fresh = await subject.start()
    const kbPerStream = await kbPerHeldStream(fresh, burst, HELD_LEVELS)
    await fresh.stop()
    const sample = { round, case: HELD_CASE, subject: subject.name, kbPerStream }
    samples.push(sample)
    sayMeasured(sample)
  }
  return samples
}

/** As the tables have them, whoever came first in which round. */
function inOrder(samples: readonly Sample[]): Sample[] {
  return SUBJECTS.flatMap((name) => samples.filter(({ subject }) => subject === name)).toSorted(
    (a, b) => caseNames.indexOf(a.case) - caseNames.indexOf(b.case),
  )
}

async function report(samples: readonly Sample[], entrants: readonly Entrant[]): Promise<Verdict[]> {
  const verdicts = BARS.map((bar) => verdictOf(bar, samples))
  const parts = [
    conditions(entrants),
    ...(cases.length > 0 ? [callsTable(samples)] : []),
    ...(caseNames.includes(HELD_CASE) ? [memoryTable(samples)] : []),
    barsTable(verdicts),
  ]
  console.log(`\n${parts.join('\n\n')}`)
  if (values.write) {
    const picture = '![CPU time per call, of each case and subject](images/benchmarks.svg)'
    await writePage([picture, ...parts].join('\n\n'), chartOf(samples, new Map(CASES.map((c) => [c.name, c.title]))))
    say('wrote docs/benchmarks.md')
  }
  return verdicts
}

function conditions(entrants: readonly Entrant[]): string {
  const [cpu] = cpus()
  const postgres = entrants.find(({ running }) => running.postgres)?.running.postgres?.version
  return [
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpu?.model.trim()}, Node ${process.versions.node}`,
    ...(postgres ? [`PostgreSQL ${postgres}`] : []),
    `before: revision ${values.before}`,
    `portkey: @portkey-ai/gateway ${PORTKEY_VERSION}`,
    `rounds: ${rounds}`,
  ].join(', ')
}

function sayMeasured({ round, case: name, subject, cpuMs, firstByteMs, kbPerStream, repeats }: Sample): void {
  const figures = [
    cpuMs === undefined ? '' : `CPU ${cpuMs.toFixed(2)} ms/call`,
    firstByteMs === undefined ? '' : `first byte ${firstByteMs.toFixed(2)} ms`,
    kbPerStream === undefined ? '' : `${kbPerStream.toFixed(1)} KB per stream`,
    repeats ? `${repeats} calls repeated after 503` : '',
  ]
  say(`round ${round}/${rounds}  ${name.padEnd(12)} ${subject.padEnd(8)} ${figures.filter(Boolean).join(', ')}`)
}

function say(line: string): void {
  console.error(line)
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1) throw new Error(`--${name} must be a whole number from 1`)
  return number
}

/** Returns the names in a comma-separated list, in the order of the known ones. Throws for an unknown name. */
function namesIn<T extends string>(list: string, known: readonly T[]): T[] {
  const wanted = list.split(',')
  const unknown = wanted.find((name) => !known.includes(name as T))
  if (unknown !== undefined) throw new Error(`there is no "${unknown}"; there are ${known.join(', ')}`)
  return known.filter((name) => wanted.includes(name))
}
