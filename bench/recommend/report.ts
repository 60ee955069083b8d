/** One line for each bar: what was measured, what is asked for, and whether it is reached. */

type Unit = 'share' | 'percent' | 'ms' | 'count'

export interface Figure {
  name: string
  value: number
  /** Not a bar but information when missing. */
  bar?: { atLeast: number } | { atMost: number }
  unit?: Unit | undefined
}

export interface Result {
  /** "E1 icecat" */
  bar: string
  figures: Figure[]
  /** Lines below it: baselines in the same words, examples of what went wrong. */
  details?: string[]
}

export function isReached({ figures }: Result): boolean {
  return figures.every(({ value, bar }) => {
    if (bar === undefined) return true
    return 'atLeast' in bar ? value >= bar.atLeast : value <= bar.atMost
  })
}

export function linesOf(result: Result): string[] {
  const { bar, figures, details = [] } = result
  const words = isReached(result) ? 'ok' : 'falls short'
  return [`${[bar, ...figures.map(wordsOf)].join('  ')}  ${words}`, ...details.map((line) => `   ${line}`)]
}

/** The same figures of something else, for comparison: no bar applies to it. */
export function baselineLine(name: string, figures: readonly Figure[]): string {
  return [`${name}:`, ...figures.map(({ name: what, value, unit }) => wordsOf({ name: what, value, unit }))].join('  ')
}

function wordsOf({ name, value, bar, unit = 'share' }: Figure): string {
  const words = `${name} ${inUnit(value, unit)}`
  if (bar === undefined) return words
  return 'atLeast' in bar
    ? `${words} (>= ${barInUnit(bar.atLeast, unit)})`
    : `${words} (<= ${barInUnit(bar.atMost, unit)})`
}

function inUnit(value: number, unit: Unit): string {
  if (unit === 'percent') return `${(value * 100).toFixed(1)} %`
  if (unit === 'ms') return `${value.toFixed(1)} ms`
  if (unit === 'count') return String(value)
  return value.toFixed(3)
}

function barInUnit(value: number, unit: Unit): string {
  if (unit === 'percent') return `${Number((value * 100).toFixed(2))} %`
  if (unit === 'ms') return `${value} ms`
  return String(value)
}
