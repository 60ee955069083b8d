/** A part of the fuzzer: something that takes hostile input, and what must never come of it. */
import { createHash } from 'node:crypto'
import { createRandom, type Random } from '../support/random.ts'

export const PARTS = ['http', 'tcp', 'provider', 'feeds', 'config', 'parsers'] as const
export type PartName = (typeof PARTS)[number]

export interface Part {
  /** How many inputs are under way at the same time. */
  readonly atOnce: number
  /** Tries one input. It may throw: then the input has failed. */
  try(random: Random, n: number): Promise<Trial>
  /** Complaints that can be made only after the last input. */
  complaints(): Promise<string[]>
  /** Says what the part is waiting for, if something does not end. */
  standstill?(): Promise<string>
  close(): Promise<void>
}

export interface Trial {
  /** How it ended, in a word or two, for the table that shows what a run has reached. */
  ending: string
  /** Undefined: all is well. */
  complaint: string | undefined
  /** The input, as somebody has to see it to understand the complaint. */
  shown(): string | Promise<string>
}

export interface Failure {
  part: PartName
  /** Undefined: it belongs to no single input. */
  n: number | undefined
  complaint: string
  shown: string
}

export interface PartResult {
  part: PartName
  inputs: number
  seconds: number
  /** Processor time: other work on the machine does not add to it. */
  cpuSeconds: number
  endings: Record<string, number>
  failures: Failure[]
}

export interface Range {
  seed: number
  from: number
  count: number
}

/** Nothing in a part takes as long by itself, on any machine. */
const HANGS_AFTER_MS = 20_000
/** More of them say nothing new. */
export const FAILURES_SHOWN = 8

/** Each input has its own randomness, so that it can be made again without those before it. */
export function randomOf(seed: number, part: PartName, n: number): Random {
  return createRandom(createHash('sha256').update(`${seed} ${part} ${n}`).digest().readUInt32LE())
}

export async function runPart(name: PartName, part: Part, { seed, from, count }: Range): Promise<PartResult> {
  const startedMs = performance.now()
  const startedCpu = process.cpuUsage()
  const result: PartResult = { part: name, inputs: 0, seconds: 0, cpuSeconds: 0, endings: {}, failures: [] }
  const running = new Set<number>()
  const fail = (n: number | undefined, complaint: string, shown = '') =>
    result.failures.push({ part: name, n, complaint, shown })
  const onUncaught = (error: unknown) => {
    fail([...running][0], `nobody caught ${textOf(error)}; under way were ${[...running].join(', ')}`)
  }
  process.on('uncaughtException', onUncaught).on('unhandledRejection', onUncaught)
  let next = from
  const work = async () => {
    while (next < from + count && result.failures.length < FAILURES_SHOWN) {
      const n = next++
      running.add(n)
      await tryOne(part, name, seed, n, result)
      running.delete(n)
    }
  }
  await Promise.all(Array.from({ length: part.atOnce }, work))
  for (const complaint of await part.complaints()) fail(undefined, complaint)
  process.off('uncaughtException', onUncaught).off('unhandledRejection', onUncaught)
  const { user, system } = process.cpuUsage(startedCpu)
  result.cpuSeconds = (user + system) / 1e6
  result.seconds = (performance.now() - startedMs) / 1_000
  return result
}

async function tryOne(part: Part, name: PartName, seed: number, n: number, result: PartResult): Promise<void> {
  result.inputs += 1
  const hang = Promise.withResolvers<Trial>()
  const timer = setTimeout(() => {
    hang.resolve({
      ending: 'hang',
      complaint: `no end within ${HANGS_AFTER_MS} ms`,
      shown: async () => (await part.standstill?.()) ?? '',
    })
  }, HANGS_AFTER_MS)
  try {
    const trial = await Promise.race([part.try(randomOf(seed, name, n), n), hang.promise])
    result.endings[trial.ending] = (result.endings[trial.ending] ?? 0) + 1
    if (trial.complaint !== undefined)
      result.failures.push({ part: name, n, complaint: trial.complaint, shown: await trial.shown() })
  } catch (error) {
    result.failures.push({ part: name, n, complaint: `it threw ${textOf(error)}`, shown: '' })
  } finally {
    clearTimeout(timer)
  }
}

export function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 6).join(' | ') : String(error)
}

/** An input that still fails with as much taken from it as can be, within so many tries. */
export async function minimised<Input>(
  input: Input,
  smallerOnes: (input: Input) => Iterable<Input>,
  stillFails: (input: Input) => Promise<boolean>,
  tries = 150,
): Promise<Input> {
  let smallest = input
  let left = tries
  for (let isSmaller = true; isSmaller && left > 0;) {
    isSmaller = false
    for (const candidate of smallerOnes(smallest)) {
      if (left-- <= 0) break
      if (!(await stillFails(candidate))) continue
      smallest = candidate
      isSmaller = true
      break
    }
  }
  return smallest
}
