import { momentOf } from './chart-axes.ts'
import type { ChartProps, ChartSeries } from './chart-data.ts'

/** The values of a chart at one moment: shown in the tooltip, and read out to people who use the keyboard. */
export interface Reading {
  moment: string
  /** The series that are above zero, in the order in which they are stacked. */
  parts: (ChartSeries & { value: string })[]
  /** The sum of stacked parts. Undefined: they are not stacked, or there is only one. */
  total: string | undefined
}

type Read = Pick<ChartProps, 'kind' | 'series' | 'every' | 'format'>

export function readingOf({ kind, series, every, format }: Read, at: string, values: Record<string, unknown>): Reading {
  const parts = series.flatMap((each) => {
    const value = Number(values[each.id] ?? 0)
    return value > 0 ? [{ ...each, value: format(value) }] : []
  })
  const sum = series.reduce((all, { id }) => all + Number(values[id] ?? 0), 0)
  return { moment: momentOf(at, every), parts, total: kind === 'bars' && parts.length > 1 ? format(sum) : undefined }
}

/** `Sun 1 Mar (UTC): large-1 12, small-1 3, 15 in total`. */
export function wordsOf({ moment, parts, total }: Reading): string {
  if (parts.length === 0) return `${moment}: no calls`
  const words = parts.toReversed().map(({ label, value }) => `${label} ${value}`)
  return `${moment}: ${[...words, ...(total === undefined ? [] : [`${total} in total`])].join(', ')}`
}

/** Where a key leads among this many moments; undefined: the key does not move. */
export function movedAlong(key: string, at: number, count: number): number | undefined {
  const last = count - 1
  switch (key) {
    case 'ArrowRight':
    case 'ArrowUp':
      return Math.min(at + 1, last)
    case 'ArrowLeft':
    case 'ArrowDown':
      return Math.max(at - 1, 0)
    case 'PageUp':
      return Math.min(at + PAGE, last)
    case 'PageDown':
      return Math.max(at - PAGE, 0)
    case 'Home':
      return 0
    case 'End':
      return last
    default:
      return undefined
  }
}

const PAGE = 7
