import { PLANTED } from './planted.ts'
import { sightingsIn } from './sightings.ts'
import { simulate } from './simulate.ts'
import { installVirtualTime } from './virtual-time.ts'

export interface SeedRange {
  from: number
  count: number
  /** Every how many seeds: ranges of several threads interleave. */
  step?: number
  /** The name of a planted bug to run with. */
  planted?: string
}

export interface Failure {
  seed: number
  violations: string[]
}

export interface SeedsOptions extends SeedRange {
  /** Told of each seed that was run. Returning true ends the run there. */
  onSeed?: (failure: Failure | undefined) => boolean | void
}

/** Runs seeds one after the other. Returns those that broke an invariant, and what was seen in how many seeds. */
export async function runSeeds({ from, count, step = 1, planted, onSeed }: SeedsOptions) {
  const statement = statementOf(planted)
  const failures: Failure[] = []
  const sightings = new Map<string, number>()
  const time = installVirtualTime()
  try {
    for (let i = 0; i < count; i++) {
      const seed = from + i * step
      const world = await simulate(seed, time, { statement })
      for (const sight of sightingsIn(world)) sightings.set(sight, (sightings.get(sight) ?? 0) + 1)
      const failure = world.violations.length > 0 ? { seed, violations: world.violations } : undefined
      if (failure) failures.push(failure)
      if (onSeed?.(failure)) break
    }
  } finally {
    time.restore()
  }
  return { failures, sightings }
}

/** Runs one seed again and returns what happened in it, line by line. */
export async function traceSeed(seed: number, planted?: string): Promise<{ lines: string[]; violations: string[] }> {
  const statement = statementOf(planted)
  const time = installVirtualTime()
  try {
    const { lines, violations } = await simulate(seed, time, { statement, isTraced: true })
    return { lines, violations }
  } finally {
    time.restore()
  }
}

function statementOf(planted: string | undefined) {
  if (planted === undefined) return undefined
  const statement = PLANTED[planted]
  if (!statement) throw new Error(`there is no planted bug "${planted}". There are: ${Object.keys(PLANTED).join('; ')}`)
  return statement
}
