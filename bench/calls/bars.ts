/** The bars that Parley has to reach compared to the other subjects, and whether it reached them. */
import { spreadOf, type Spread } from './statistics.ts'
import type { SubjectName } from './subject.ts'

/** The measurements of one subject in one round of one case. */
export interface Sample {
  readonly round: number
  readonly case: string
  readonly subject: SubjectName
  /** CPU time of its process, in ms per call. */
  readonly cpuMs?: number | undefined
  /** CPU time of its PostgreSQL, in ms per call. */
  readonly postgresMs?: number | undefined
  readonly firstByteMs?: number | undefined
  readonly firstByteP95Ms?: number | undefined
  /** Only of the case `held`. */
  readonly kbPerStream?: number | undefined
  /** How many calls were refused for a moment, and repeated. More than a few: the machine was too busy. */
  readonly repeats?: number | undefined
}

export type Measure = Exclude<keyof Sample, 'round' | 'case' | 'subject'>

export interface Bar {
  /** Left out: this checkout. */
  readonly of?: SubjectName
  readonly case: string
  readonly measure: Measure
  /** How it is compared: as a share of another's, as what it is above another's, or by itself. */
  readonly as: 'ratio' | 'excess' | 'value'
  readonly against?: SubjectName
  readonly most: number
}

export interface Verdict extends Bar {
  /** Undefined: one of the two was not measured. */
  readonly found: Spread | undefined
  readonly isReached: boolean
}

export const HELD_CASE = 'held'

function cpu(against: SubjectName, mostByCase: Record<string, number>): Bar[] {
  return Object.entries(mostByCase).map(([name, most]) => ({
    case: name,
    measure: 'cpuMs',
    as: 'ratio',
    against,
    most,
  }))
}

/** The bars against `before` are meant for the revision that is the default of `--before`. */
export const BARS: readonly Bar[] = [
  ...cpu('before', { json: 0.65, burst: 0.5, paced: 0.65, prompt: 0.5 }),
  ...cpu('portkey', { json: 0.75, burst: 0.5, paced: 0.75 }),
  ...cpu('bare', { burst: 2.5, paced: 1.4 }),
  { case: 'json', measure: 'firstByteMs', as: 'excess', against: 'bare', most: 2 },
  { case: 'burst', measure: 'firstByteMs', as: 'excess', against: 'bare', most: 2 },
  ...(['json', 'burst'] as const).flatMap((name) =>
    (['cpuMs', 'postgresMs'] as const).map((measure): Bar => ({
      of: 'full',
      case: name,
      measure,
      as: 'ratio',
      against: 'parley',
      most: 1.1,
    })),
  ),
  { case: HELD_CASE, measure: 'kbPerStream', as: 'value', most: 50 },
]

export function valuesOf(
  samples: readonly Sample[],
  of: { case: string; subject: SubjectName; measure: Measure },
): Map<number, number> {
  const own = samples.filter((sample) => sample.case === of.case && sample.subject === of.subject)
  return new Map(
    own.flatMap((sample) => {
      const value = sample[of.measure]
      return value === undefined ? [] : [[sample.round, value] as const]
    }),
  )
}

/** Both of a comparison are of the same round, a minute apart: what the machine did otherwise is in both. */
export function verdictOf(bar: Bar, samples: readonly Sample[]): Verdict {
  const own = valuesOf(samples, { ...bar, subject: bar.of ?? 'parley' })
  const others = bar.against && valuesOf(samples, { ...bar, subject: bar.against })
  const compared = [...own].flatMap(([round, value]) => {
    if (bar.as === 'value') return [value]
    const other = others?.get(round)
    if (other === undefined) return []
    if (bar.as === 'excess') return [value - other]
    // Too few calls to see any time of the other one: no ratio can be made of it.
    return other > 0 ? [value / other] : []
  })
  const found = spreadOf(compared)
  return { ...bar, found, isReached: found !== undefined && found.median <= bar.most }
}
