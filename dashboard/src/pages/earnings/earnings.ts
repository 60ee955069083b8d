import type { Reply } from '../../api.ts'
import type { ChartProps } from '../../components/chart-data.ts'
import { formatMoney } from '../../formats.ts'

export type Earnings = Reply<'GET /api/projects/:project/earnings'>

export function chartOf({ points }: Earnings): ChartProps {
  return {
    label: 'Earned per day in UTC.',
    kind: 'bars',
    series: [{ id: 'earned', label: 'Earned', colour: 'var(--chart-2)' }],
    points: points.map(({ at, earnedNanos }) => ({ at, values: { earned: Number(earnedNanos) } })),
    every: 'day',
    format: (value) => formatMoney(BigInt(Math.round(value))),
  }
}

/** Whether there is anything to look at in this time. */
export function isQuiet({ shown, clicks }: Earnings): boolean {
  return shown === 0 && clicks === 0
}
