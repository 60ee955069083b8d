import type { Reply } from '../../api.ts'
import type { ChartProps } from '../../components/chart-data.ts'
import { OTHER_COLOUR } from '../../components/chart-colours.ts'
import { LEAST_COST } from '../../calls-address.ts'
import { formatCount, formatMoney } from '../../formats.ts'

/** The figures that the chart of the usage page can stack. */
export const SHOWN = [
  ['spend', 'Spend'],
  ['calls', 'Calls'],
  ['tokens', 'Tokens'],
  ['failed', 'Failed calls'],
] as const
export type Shown = (typeof SHOWN)[number][0]

export function shownOf(text: string | undefined): Shown {
  return SHOWN.find(([value]) => value === text)?.[0] ?? 'calls'
}

export type Usage = Reply<'GET /api/projects/:project/usage'>
type PointGroup = Usage['points'][number]['groups'][number]

/** More colours than this cannot be told apart; the rest is one part. */
const GROUPS_MAX = 5
export const OTHER = 'other'

export function tokensIn({ input, cachedInput, cacheWrite, output, reasoning }: PointGroup['tokens']): number {
  return input + cachedInput + cacheWrite + output + reasoning
}

function valueOf(group: PointGroup, shown: Shown): number {
  if (shown === 'spend') return Number(group.chargedNanos)
  return shown === 'tokens' ? tokensIn(group.tokens) : shown === 'calls' ? group.calls : group.failed
}

export function formatShown(value: number, shown: Shown): string {
  return shown === 'spend' ? formatMoney(BigInt(Math.round(value))) : formatCount(Math.round(value * 10) / 10)
}

export function chartOf(usage: Usage, shown: Shown, colours: Map<string, string>): ChartProps {
  const tops = usage.groups.slice(0, usage.groups.length > GROUPS_MAX + 1 ? GROUPS_MAX : GROUPS_MAX + 1)
  const series = tops.map(({ id, label }) => ({ id, label, colour: colours.get(id) ?? OTHER_COLOUR }))
  if (usage.groups.length > tops.length) series.push({ id: OTHER, label: 'Other', colour: OTHER_COLOUR })
  const known = new Set(tops.map(({ id }) => id))
  const points = usage.points.map(({ at, groups }) => {
    const values: Record<string, number> = {}
    for (const group of groups) {
      const id = known.has(group.id) ? group.id : OTHER
      values[id] = (values[id] ?? 0) + valueOf(group, shown)
    }
    return { at, values }
  })
  const what = SHOWN.find(([value]) => value === shown)?.[1] ?? ''
  return {
    label: `${what} by ${usage.by}, per ${usage.every} in UTC.`,
    kind: 'bars',
    series,
    points,
    every: usage.every,
    format: (value) => formatShown(value, shown),
  }
}

/** The filter of the calls list that leaves the calls of a group. */
export function ofGroup({ by }: Pick<Usage, 'by'>, group: string): { model?: string; key?: string } {
  return by === 'model' ? { model: group } : by === 'key' ? { key: group } : {}
}

/** The filter that leaves the calls which what is shown was counted of. */
export function ofShown(shown: Shown): { outcome?: 'failed'; min_cost?: string } {
  if (shown === 'failed') return { outcome: 'failed' }
  return shown === 'spend' ? { min_cost: LEAST_COST } : {}
}

export type Row = PointGroup & { at: string; label: string }

/** The same rows as in the CSV, newest first. */
export function rowsOf({ groups, points }: Usage): Row[] {
  const labels = new Map(groups.map(({ id, label }) => [id, label]))
  return points
    .toReversed()
    .flatMap(({ at, groups: parts }) => parts.map((part) => ({ ...part, at, label: labels.get(part.id) ?? part.id })))
}
