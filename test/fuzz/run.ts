/**
 * `npm run fuzz`: hostile input of every kind, by the ten thousand. Nothing may be answered 500, hang, crash, or be told in
 * another shape than the documented one, and money must add up afterwards.
 *
 *   npm run fuzz -- [--http N] [--tcp N] [--provider N] [--feeds N] [--config N] [--parsers N] [--seed S] [--long]
 *   npm run fuzz -- --seed S --only http:1234      one input again, or some: http:1200-1250
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { globalSetup, globalTeardown } from '../support/global-setup.ts'
import type { LaneOrder } from './lane.ts'
import { PARTS, type Failure, type PartName, type PartResult } from './part.ts'

type Counts = Record<PartName, number>

/** Two processes of about the same length, because there are two cores where this is run most often. */
const LANES: readonly (readonly PartName[])[] = [['http'], ['tcp', 'provider', 'feeds', 'config', 'parsers']]
/** An input of the parsers is fifty values for one of them. */
const USUAL: Counts = { http: 50_000, tcp: 20_000, provider: 6_000, feeds: 1_000, config: 4_000, parsers: 200 }
const LONG: Counts = {
  http: 1_195_000,
  tcp: 400_000,
  provider: 200_000,
  feeds: 100_000,
  config: 100_000,
  parsers: 5_000,
}

const count = { type: 'string' } as const
const { values: flags } = parseArgs({
  options: {
    http: count,
    tcp: count,
    provider: count,
    feeds: count,
    config: count,
    parsers: count,
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    only: { type: 'string' },
    long: { type: 'boolean', default: false },
  },
})
const seed = wholeNumber('seed', flags.seed)
const lanes = flags.only === undefined ? LANES.map(ordersOf) : [[onlyOrder(flags.only)]]

// Until the verdict says otherwise: also a run that ends before it is a failure.
process.exitCode = 1
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))
console.log(`fuzz: seed ${seed}`)
await globalSetup()
try {
  const results = (await Promise.all(lanes.map((orders) => runLane(orders)))).flat()
  const failures = results.flatMap((result) => result.failures)
  const inputs = results.reduce((sum, result) => sum + result.inputs, 0)
  console.log(`fuzz: ${inputs} inputs, ${failures.length} failures`)
  process.exitCode = failures.length === 0 ? 0 : 1
} finally {
  await globalTeardown()
}
process.exit()

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new Error(`--${name} must be a whole number`)
  return Number(text)
}

function ordersOf(parts: readonly PartName[]): LaneOrder[] {
  // If some parts are asked for by name, the others do not run.
  const isNamed = PARTS.some((part) => flags[part] !== undefined)
  return parts.flatMap((part) => {
    const said = flags[part]
    const inputs = said !== undefined ? wholeNumber(part, said) : isNamed ? 0 : (flags.long ? LONG : USUAL)[part]
    return inputs === 0 ? [] : [{ part, seed, from: 0, count: inputs }]
  })
}

/** One input, or those from one to another. */
function onlyOrder(only: string): LaneOrder {
  const [, part = '', from = '', to = from] = /^(\w+):(\d+)(?:-(\d+))?$/.exec(only) ?? []
  if (!PARTS.includes(part as PartName)) throw new Error(`--only is one of ${PARTS.join(', ')}, and a number: http:17`)
  const first = wholeNumber('only', from)
  return { part: part as PartName, seed, from: first, count: wholeNumber('only', to) - first + 1 }
}

async function runLane(orders: readonly LaneOrder[]): Promise<PartResult[]> {
  if (orders.length === 0) return []
  const child = fork(join(import.meta.dirname, 'lane.ts'))
  const results: PartResult[] = []
  child.on('message', (result: PartResult) => {
    results.push(result)
    console.log(lineOf(result))
    // At once: a run that is stopped before its end has told what it found.
    for (const failure of result.failures) console.log(toldOf(failure))
  })
  process.once('exit', () => child.kill('SIGKILL'))
  child.send(orders)
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  for (const { part } of orders.slice(results.length)) {
    const complaint = `its process ended (${signal ?? code}) before it did`
    console.log(`FAILED ${part}: ${complaint}`)
    results.push({
      part,
      inputs: 0,
      seconds: 0,
      cpuSeconds: 0,
      endings: {},
      failures: [{ part, n: undefined, complaint, shown: '' }],
    })
  }
  return results
}

function lineOf({ part, inputs, seconds, cpuSeconds, endings, failures }: PartResult): string {
  const seen = Object.entries(endings)
    .toSorted(([, a], [, b]) => b - a)
    .map(([ending, times]) => `${ending} ${times}`)
  const failed = failures.length === 0 ? '' : `, ${failures.length} FAILED`
  return `${part.padEnd(9)} ${String(inputs).padStart(8)} in ${seconds.toFixed(1)} s (${cpuSeconds.toFixed(1)} s of a core)${failed}: ${seen.join(', ')}`
}

function toldOf({ part, n, complaint, shown }: Failure): string {
  const again = n === undefined ? '' : `\n  again: npm run fuzz -- --seed ${seed} --only ${part}:${n}`
  return `FAILED ${part}: ${complaint}${shown === '' ? '' : `\n  ${shown}`}${again}`
}
