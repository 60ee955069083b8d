import { ChartColumn } from 'lucide-react'
import type { UseQueryResult } from '@tanstack/react-query'
import { changeOf } from '../../change.ts'
import { Card } from '../../components/card.tsx'
import type { ChartProps } from '../../components/chart-data.ts'
import { Chart } from '../../components/chart.tsx'
import { Swatch } from '../../components/swatch.tsx'
import { coloursOf } from '../../components/chart-colours.ts'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Duration, Money, Time, Tokens } from '../../components/figures.tsx'
import { Stat } from '../../components/stat.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { formatDuration, formatShare } from '../../formats.ts'
import { useApi } from '../../queries.ts'
import { Count } from './count.tsx'
import { chartOf, SHOWN, tokensIn, type Shown, type Usage } from './shown.ts'
import { UsageRows } from './usage-rows.tsx'

type Group = Usage['groups'][number]

export interface UsageViewProps {
  usage: UseQueryResult<Usage>
  show: Shown
  /** Colours of models are those that they have on every page of the project. */
  projectId?: string
}

export function UsageView({ usage, show, projectId }: UsageViewProps) {
  const { data, error } = usage
  const colours = useColours(data, projectId)
  if (error && !data) {
    return (
      <Card>
        <ErrorState error={error} onRetry={() => void usage.refetch()} />
      </Card>
    )
  }
  if (data?.totals.calls === 0 && data.previous.calls === 0) return <NoUsage />
  const what = SHOWN.find(([value]) => value === show)?.[1] ?? ''
  return (
    <div className="flex flex-col gap-4">
      <Totals data={data} />
      <Card
        title={`${what} by ${data?.by ?? 'model'}`}
        description={<Updated upTo={data?.upTo} every={data?.every ?? 'day'} />}
      >
        <Chart data={data && withTable(chartOf(data, show, colours))} />
      </Card>
      <DataTable
        label={`Usage by ${data?.by ?? 'model'}`}
        columns={columnsFor(data, colours)}
        rows={data?.groups}
        keyOf={({ id }) => id}
        skeletonRows={4}
        empty={
          <EmptyState icon={ChartColumn} title="No calls in this time">
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
              description="Half of the calls were faster than p50, 19 of 20 faster than p95. Within a few percent."
            >
              <Chart data={latencyOf(data)} />
            </Card>
            <Card title="How calls ended" description="Failed calls are never charged.">
              <Endings data={data} />
            </Card>
          </div>
          <UsageRows usage={data} />
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
      <EmptyState icon={ChartColumn} title="No calls in this time">
        Every call that reaches a model is counted here within a minute: its tokens, what it cost and how long it took.
      </EmptyState>
    </Card>
  )
}

function Totals({ data }: { data: Usage | undefined }) {
  const now = data?.totals
  const before = data?.previous
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-6">
      <Stat
        label="Calls"
        value={now && <Count of={now.calls} />}
        delta={changeOf(now?.calls, before?.calls)}
        note="vs before"
      />
      <Stat
        label="Tokens"
        value={now && <Tokens count={tokensIn(now.tokens)} />}
        delta={changeOf(now && tokensIn(now.tokens), before && tokensIn(before.tokens))}
        note="vs before"
      />
      <Stat
        label="Spend"
        value={now && <Money nanos={now.chargedNanos} />}
        delta={changeOf(now && Number(now.chargedNanos), before && Number(before.chargedNanos))}
        note="vs before"
      />
      <Stat
        label="Failed"
        value={now && formatShare(now.calls === 0 ? 0 : now.failed / now.calls)}
        note={now && `${now.failed.toLocaleString('en-GB')} calls`}
      />
      <Stat
        label="First token"
        value={now && <Duration ms={now.firstTokenMs.p50} />}
        note={now?.firstTokenMs.p95 != null && `p95 ${formatDuration(now.firstTokenMs.p95)}`}
      />
      <Stat
        label="Saved by caching"
        value={data && <Money nanos={data.savedNanos} />}
        note={
          now && (
            <>
              <Tokens count={now.tokens.cachedInput} /> read, <Tokens count={now.tokens.cacheWrite} /> written
            </>
          )
        }
      />
    </div>
  )
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

function columnsFor(data: Usage | undefined, colours: Map<string, string>): Column<Group>[] {
  const title = { model: 'Model', key: 'Key', project: 'Project' }[data?.by ?? 'model']
  const tokens = (label: string, pick: (group: Group) => number): Column<Group> => ({
    label,
    align: 'right',
    cell: (group) => <Tokens count={pick(group)} />,
  })
  return [
    {
      label: title,
      isTitle: true,
      cell: ({ id, label }) => (
        <span className="flex items-center gap-2">
          <Swatch colour={colours.get(id) ?? 'var(--chart-6)'} />
          <span className="truncate">{label}</span>
        </span>
      ),
    },
    { label: 'Calls', align: 'right', cell: ({ calls }) => <Count of={calls} /> },
    {
      label: 'Failed',
      align: 'right',
      cell: ({ calls, failed }) => <span className="tabular">{formatShare(calls === 0 ? 0 : failed / calls)}</span>,
    },
    tokens('Input', ({ tokens: { input, cacheWrite } }) => input + cacheWrite),
    tokens('Cached', ({ tokens: { cachedInput } }) => cachedInput),
    tokens('Output', ({ tokens: { output } }) => output),
    tokens('Reasoning', ({ tokens: { reasoning } }) => reasoning),
    { label: 'First token p50', align: 'right', cell: ({ firstTokenMs }) => <Duration ms={firstTokenMs.p50} /> },
    { label: 'Duration p95', align: 'right', cell: ({ durationMs }) => <Duration ms={durationMs.p95} /> },
    { label: 'Spend', align: 'right', cell: ({ chargedNanos }) => <Money nanos={chargedNanos} /> },
  ]
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

const ENDINGS: Record<string, string> = {
  completed: 'Completed',
  hung_up: 'Caller hung up',
  hold_used_up: 'Credit ran out midway',
  upstream_failed: 'The model failed',
  truncated: 'The answer broke off',
  timed_out: 'The model took too long',
  gateway_failed: 'Failed on our side',
  gateway_died: 'Interrupted on our side',
}

function Endings({ data }: { data: Usage | undefined }) {
  const total = data?.totals.calls ?? 0
  const rows = (data?.totals.outcomes ?? []).toSorted((a, b) => b.calls - a.calls)
  return (
    <div className="min-h-56">
      <ul className="flex flex-col gap-2.5 text-sm">
        {rows.map(({ outcome, calls }) => (
          <li key={outcome}>
            <div className="flex justify-between gap-4">
              <span>{ENDINGS[outcome]}</span>
              <span className="tabular text-muted">
                <Count of={calls} /> · {formatShare(calls / total)}
              </span>
            </div>
            <div aria-hidden className="mt-1 h-1 rounded-full bg-hover">
              <div className="h-1 rounded-full bg-faint" style={{ width: `${(100 * calls) / total}%` }} />
            </div>
          </li>
        ))}
      </ul>
      {data && data.totals.statuses.length > 0 && (
        <p className="mt-4 text-sm text-muted">
          By status:{' '}
          {data.totals.statuses
            .map(
              ({ status, calls }) =>
                `${calls.toLocaleString('en-GB')} × ${status === 0 ? 'no answer' : (status ?? 'other')}`,
            )
            .join(', ')}
        </p>
      )}
    </div>
  )
}
