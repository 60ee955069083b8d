import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../support/world.ts'
import { expectedOf } from './adapters.ts'
import type { Cell } from './cells.ts'
import { askOnce, type Exchange } from './exchange.ts'
import { complaintsAbout, isTooSlow } from './judge.ts'
import { REPEATED_FAULTS, type RepeatedFault } from './repeated-faults.ts'
import type { Result } from './verdict.ts'
import type { World } from './world.ts'

/** Longer than the shortest time for which an address is kept. */
const OUTLIVES_TTL_MS = 1_200
const NOTED_WITHIN_MS = 3_000

/** Tries one cell. It never throws: a cell that breaks is one that failed. */
export async function tryCell(world: World, cell: Cell): Promise<Result & { isTooSlow: boolean }> {
  try {
    const repeated = REPEATED_FAULTS[cell.fault]
    const before = await numbersOf(world, cell)
    const { exchanges, complaints } = repeated ? await meetRepeatedly(world, cell, repeated) : await meet(world, cell)
    // A repeated fault is about what many calls do to each other, not about how soon each is over.
    const slow = repeated ? [] : exchanges.filter((exchange) => isTooSlow(cell, exchange))
    const all = [
      ...complaints,
      ...exchanges.flatMap((exchange) => complaintsAbout(cell, exchange)),
      ...slow.map(({ ms }) => `it took ${Math.round(ms)} ms, more than ${cell.expected.withinMs}`),
      ...(await complaintsAboutNumbers(world, cell, exchanges, before)),
    ]
    return {
      cell: cell.id,
      complaints: [...new Set(all)],
      seen: seenIn(exchanges),
      isTooSlow: slow.length > 0 && all.length === slow.length,
    }
  } catch (error) {
    return { cell: cell.id, complaints: [String(error)], seen: 'crashed', isTooSlow: false }
  }
}

interface Met {
  exchanges: Exchange[]
  complaints: string[]
}

async function meet(world: World, cell: Cell): Promise<Met> {
  const first = await askOnce(world, cell)
  if (cell.fault === 'U4-stale') {
    await sleep(OUTLIVES_TTL_MS)
    return { exchanges: [first, await askOnce(world, cell)], complaints: [] }
  }
  if (!cell.fault.startsWith('U15')) return { exchanges: [first], complaints: [] }
  // The connection that said more than it was asked is closed, and the next call is not told what was left on it.
  const { simulator } = world.stationOf(cell).place
  const isClosed = await until(() => simulator?.openSockets() === 0, NOTED_WITHIN_MS).then(
    () => true,
    () => false,
  )
  return {
    exchanges: [first, await askOnce(world, cell)],
    complaints: isClosed ? [] : ['the connection with an unsolicited answer was kept'],
  }
}

async function meetRepeatedly(world: World, cell: Cell, repeated: RepeatedFault): Promise<Met> {
  const exchanges: Exchange[] = []
  let left = repeated.calls
  const memory = watchMemory()
  await Promise.all(
    Array.from({ length: repeated.atOnce }, async () => {
      while (left-- > 0) exchanges.push(await askOnce(world, cell))
    }),
  )
  const growth = memory.growth()
  const isGrown = repeated.growthBytesMax !== undefined && growth > repeated.growthBytesMax
  return { exchanges, complaints: isGrown ? [`the process grew by ${Math.round(growth / 1e6)} MB`] : [] }
}

function watchMemory(): { growth(): number } {
  const before = process.memoryUsage.rss()
  let most = before
  const look = () => (most = Math.max(most, process.memoryUsage.rss()))
  const timer = setInterval(look, 5)
  return {
    growth() {
      clearInterval(timer)
      look()
      return most - before
    },
  }
}

/** Counted where operators look: how attempts at the provider ended, and how often usage was made up or not believed. */
type Numbers = Record<string, number>

async function complaintsAboutNumbers(
  world: World,
  cell: Cell,
  exchanges: readonly Exchange[],
  before: Numbers,
): Promise<string[]> {
  const wanted = textOf(wantedNumbers(world, cell, exchanges))
  let seen = ''
  const isRight = async () => (seen = textOf(grownFrom(before, await numbersOf(world, cell)))) === wanted
  // Numbers are written when the last byte has left, which a caller can notice first.
  await until(isRight, NOTED_WITHIN_MS).catch(() => undefined)
  return seen === wanted ? [] : [`the metrics say ${seen}, not ${wanted}`]
}

function wantedNumbers(world: World, cell: Cell, exchanges: readonly Exchange[]): Numbers {
  const { provider } = world.stationOf(cell)
  const isOfSecond = cell.expected.ending === 'refused' && cell.hasSecondRoute
  const expected = isOfSecond ? expectedOf(cell.adapter, 'none') : cell.expected
  const wanted: Numbers = {}
  for (const attempt of exchanges.flatMap(({ call }) => call.attempts)) {
    if (attempt.provider !== provider) continue
    const kind = attempt.failed ?? 'answered'
    wanted[kind] = (wanted[kind] ?? 0) + 1
  }
  if (expected.ending === 'whole' && expected.charged === 'as counted') wanted.estimated = exchanges.length
  if (expected.ending === 'whole' && expected.isAnomalous) wanted.anomalous = exchanges.length
  return wanted
}

async function numbersOf(world: World, cell: Cell): Promise<Numbers> {
  const { provider, model } = world.stationOf(cell)
  const attempts = await valuesOf(world, 'parley_upstream_attempts_total', { provider })
  const estimated = await valuesOf(world, 'parley_usage_estimated_total', { model })
  const anomalous = await valuesOf(world, 'parley_usage_anomalies_total', { model })
  return {
    ...Object.fromEntries(attempts.map(({ labels, value }) => [String(labels.kind), value])),
    // A broken answer may or may not be worth an estimate: nobody is charged for it.
    estimated: cell.expected.ending === 'broken' ? 0 : (estimated[0]?.value ?? 0),
    anomalous: anomalous[0]?.value ?? 0,
  }
}

async function valuesOf(world: World, name: string, wanted: Record<string, string>) {
  const metric = await world.metrics.registry.getSingleMetric(name)?.get()
  if (!metric) throw new Error(`there is no metric ${name}`)
  return metric.values.filter(({ labels }) => Object.entries(wanted).every(([label, value]) => labels[label] === value))
}

function grownFrom(before: Numbers, after: Numbers): Numbers {
  return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]))
}

function textOf(numbers: Numbers): string {
  const entries = Object.entries(numbers).filter(([, value]) => value !== 0)
  return entries
    .map(([name, value]) => `${name} ${value}`)
    .toSorted()
    .join(', ')
}

function seenIn(exchanges: readonly Exchange[]): string {
  const endings = exchanges.map(({ status, call }) => {
    const failed = call.attempts.findLast((attempt) => attempt.failed !== undefined)?.failed
    return failed === undefined ? String(status) : `${status} ${failed}`
  })
  return [...new Set(endings)].join(', ')
}
