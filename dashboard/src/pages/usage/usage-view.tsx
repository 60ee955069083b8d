import { ChartColumn } from 'lucide-react'
import type { UseQueryResult } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Card } from '../../components/card.tsx'
import type { ChartProps } from '../../components/chart-data.ts'
import { Chart } from '../../components/chart.tsx'
import { coloursOf } from '../../components/chart-colours.ts'
import { DataTable } from '../../components/data-table.tsx'
import { Time } from '../../components/figures.tsx'
import { HeroCard } from '../../components/hero-card.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { formatDuration } from '../../formats.ts'
import { useApi } from '../../queries.ts'
import { callsAt, momentSpan } from '../../calls-address.ts'
import { Endings } from './endings.tsx'
import { columnsFor } from './group-columns.tsx'
import { chartOf, ofGroup, ofShown, OTHER, SHOWN, type Shown, type Usage } from './shown.ts'
import { UsageFigures } from './usage-figures.tsx'
import { UsageRows } from './usage-rows.tsx'

export interface UsageViewProps {
  usage: UseQueryResult<Usage>
  show: Shown
  /** Colours of models are those that they have on every page of the project. */
  projectId?: string
}

export function UsageView({ usage, show, projectId }: UsageViewProps) {
  const { data, error } = usage
  const colours = useColours(data, projectId)
  const pick = usePick(data, projectId, show)
  if (error && !data) {
    return (
      <Card>
        <ErrorState error={error} onRetry={() => void usage.refetch()} />
      </Card>
    )
  }
  if (data?.totals.calls === 0 && data.previous.calls === 0) return <NoUsage />
  const chart = data && chartOf(data, show, colours)
  const what = SHOWN.find(([value]) => value === show)?.[1] ?? ''
  return (
    <div className="flex flex-col gap-4">
      <HeroCard
        title={`${what} by ${data?.by ?? 'model'}`}
        description={<Updated upTo={data?.upTo} every={data?.every ?? 'day'} />}
        figures={<UsageFigures data={data} projectId={projectId} />}
      >
        <Chart isHero data={chart && withTable({ ...chart, ...(pick && { onPick: pick }) })} />
      </HeroCard>
      <DataTable
        label={`Usage by ${data?.by ?? 'model'}`}
        columns={columnsFor(data, colours, projectId)}
        rows={data?.groups}
        keyOf={({ id }) => id}
        skeletonRows={4}
        empty={
          <EmptyState icon={ChartColumn} title="No calls in this period">
            Choose a longer time range.
          </EmptyState>
        }
      />
      {/* How many rows the table has is known with the data. What stands below comes with it, and so never moves. */}
      {data && (
        <>
          <div className="grid gap-4 lg:grid-cols-2">
            <Card
              title="Time to the first token"
              description="Half of the calls were faster than p50, 95% faster than p95. Accurate to a few percent."
            >
              <Chart data={{ ...latencyOf(data), ...(pick && { onPick: (at: string) => pick(at) }) }} />
            </Card>
            <Card title="How calls ended" description="Failed calls are never charged.">
              <Endings data={data} projectId={projectId} />
            </Card>
          </div>
          <UsageRows usage={data} projectId={projectId} />
        </>
      )}
    </div>
  )
}

/** For those who hear the page: bars say little, and the numbers are elsewhere. */
function withTable(chart: ChartProps): ChartProps {
  return { ...chart, label: `${chart.label} The table below has the same numbers.` }
}

function useColours(data: Usage | undefined, projectId: string | undefined): Map<string, string> {
  const call = { params: { project: projectId ?? '' } }
  const filters = useApi('GET /api/projects/:project/call-filters', call, { enabled: projectId !== undefined })
  if (data?.by === 'model' && filters.data) return coloursOf(filters.data.models)
  return coloursOf(data?.groups.map(({ id }) => id) ?? [])
}

function NoUsage() {
  return (
    <Card>
      <EmptyState icon={ChartColumn} title="No calls in this period">
        Every call that reaches a model is counted here within a minute: its tokens, what it cost and how long it took.
      </EmptyState>
    </Card>
  )
}

/** A bar, or a moment of a line, leads to its calls. Of all projects together there is no list. */
function usePick(data: Usage | undefined, projectId: string | undefined, show: Shown) {
  const navigate = useNavigate()
  if (data === undefined || projectId === undefined) return undefined
  return (at: string, series?: string) => {
    if (series === OTHER) return
    const part = series === undefined ? {} : { ...ofGroup(data, series), ...ofShown(show) }
    void navigate(callsAt(projectId, { ...momentSpan(at, data.every), ...part }) as never)
  }
}

export function Updated({ upTo, every }: { upTo: string | null | undefined; every?: 'hour' | 'day' }) {
  if (upTo === undefined) return 'Loading'
  return (
    <>
      {every && `Per ${every} in UTC. `}
      {upTo === null ? (
        'Not counted yet.'
      ) : (
        <>
          Updated <Time iso={upTo} as="age" />.
        </>
      )}
    </>
  )
}

function latencyOf(data: Usage) {
  const series = [
    { id: 'p50', label: 'p50', colour: 'var(--chart-1)' },
    { id: 'p95', label: 'p95', colour: 'var(--chart-2)' },
  ]
  const points = data.points.map(({ at, firstTokenMs: { p50, p95 } }) => ({
    at,
    values: { ...(p50 !== null && { p50 }), ...(p95 !== null && { p95 }) },
  }))
  return {
    label: `Time to the first token per ${data.every} in UTC.`,
    kind: 'lines' as const,
    series,
    points,
    every: data.every,
    format: formatDuration,
  }
}
