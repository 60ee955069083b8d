import { ChartColumn } from 'lucide-react'
import { Card } from '../../components/card.tsx'
import { coloursOf } from '../../components/chart-colours.ts'
import { Chart } from '../../components/chart.tsx'
import { Swatch } from '../../components/swatch.tsx'
import { Money } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { SkeletonLines } from '../../components/skeleton.tsx'
import { EmptyState } from '../../components/states.tsx'
import { formatCount, formatMoney } from '../../formats.ts'
import { useProject } from '../../session.ts'
import type { Home } from './onboarding.ts'

/** Where the money goes: by day, and by model. */
export function SpendCards({ home }: { home: Home | undefined }) {
  const project = useProject()
  const isEmpty = home !== undefined && home.models.length === 0
  return (
    <div className="grid gap-6 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
      <Card
        title="Spend by day"
        description="The last 30 days, in UTC."
        action={<Link to={`/projects/${project.id}/usage`}>All usage</Link>}
      >
        <div className="h-64">
          {isEmpty ? (
            <EmptyState icon={ChartColumn} title="Nothing spent yet">
              One bar for each day on which calls were charged. The first appears some seconds after your first call.
            </EmptyState>
          ) : (
            <Chart data={home && chartOf(home)} />
          )}
        </div>
      </Card>
      <Card title="Top models" description="By spend in the last 30 days.">
        <div className="min-h-40 lg:min-h-64">
          {home === undefined ? <SkeletonLines count={5} /> : isEmpty ? <NoModels /> : <TopModels home={home} />}
        </div>
      </Card>
    </div>
  )
}

function chartOf({ days }: Home) {
  return {
    label: 'Spend by day in the last 30 days',
    kind: 'bars' as const,
    series: [{ id: 'spend', label: 'Spend', colour: 'var(--chart-1)' }],
    points: days.map(({ at, chargedNanos }) => ({ at, values: { spend: Number(chargedNanos) } })),
    every: 'day' as const,
    format: (nanos: number) => formatMoney(BigInt(Math.round(nanos))),
  }
}

function NoModels() {
  return <p className="text-muted">The models that you call are listed here, those that cost most first.</p>
}

function TopModels({ home: { models } }: { home: Home }) {
  const colours = coloursOf(models.map(({ model }) => model))
  const most = Number(models[0]?.chargedNanos ?? 0) || 1
  return (
    <ol className="flex flex-col gap-4.5">
      {models.map(({ model, calls, chargedNanos }) => (
        <li key={model}>
          <p className="flex items-baseline gap-2">
            <Swatch colour={colours.get(model) ?? ''} />
            <span className="min-w-0 flex-1 truncate font-medium" title={model}>
              {model}
            </span>
            <span className="tabular text-xs text-muted">{formatCount(calls)} calls</span>
            <Money nanos={chargedNanos} className="w-16 text-right font-medium" />
          </p>
          <div aria-hidden className="mt-1.5 h-1 overflow-hidden rounded-full bg-hover">
            <div
              className="h-full rounded-full"
              style={{ width: `${(Number(chargedNanos) / most) * 100}%`, background: colours.get(model) }}
            />
          </div>
        </li>
      ))}
    </ol>
  )
}
