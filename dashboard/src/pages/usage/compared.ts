import { HOUR_MS } from '../../durations.ts'

export interface Compared {
  from: string
  to: string
  /** Undefined: there was nothing to compare with. */
  delta: number | undefined
  /** The calls of the span right before. */
  previousCalls: number
}

/** The span that a change is measured against, such as `vs previous 30 days`; never the words without a number beside them. */
export function comparedWords({ from, to, delta, previousCalls }: Compared): string | undefined {
  if (delta !== undefined) return `vs previous ${lengthOf(from, to)}`
  return previousCalls === 0 ? 'no calls before' : undefined
}

function lengthOf(from: string, to: string): string {
  const hours = Math.round((Date.parse(to) - Date.parse(from)) / HOUR_MS)
  if (hours <= 24) return hours === 1 ? 'hour' : `${hours} hours`
  return `${Math.round(hours / 24)} days`
}
