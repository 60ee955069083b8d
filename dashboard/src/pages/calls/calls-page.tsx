import { useNavigate } from '@tanstack/react-router'
import { Download, List, Radio } from 'lucide-react'
import { useMemo } from 'react'
import { addressOf } from '../../api.ts'
import { Button, buttonClasses } from '../../components/button.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Duration, Money, Nothing, Time, Tokens } from '../../components/figures.tsx'
import { FilterBar, FilterInput, FilterSelect, type FilterSelectProps } from '../../components/filter-bar.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { EmptyState } from '../../components/states.tsx'
import { DAY_MS, HOUR_MS } from '../../durations.ts'
import { useFilters, type Filters as Chosen } from '../../filters.ts'
import { formatTime } from '../../formats.ts'
import { pagingOf, useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { CallStatus } from './call-status.tsx'
import { IgnoredFieldsButton, IgnoredFieldsList, useIgnoredFields } from './ignored-fields.tsx'
import { useCalls, type CallItem } from './use-calls.ts'

const FILTERS = [
  'id',
  'outcome',
  'model',
  'key',
  'conversation',
  'metadata_key',
  'metadata_value',
  'streamed',
  'min_cost',
  'since',
  'from',
  'to',
  'live',
] as const
const SINCE: Record<string, number> = { '1h': HOUR_MS, '24h': DAY_MS, '7d': 7 * DAY_MS, '30d': 30 * DAY_MS }

export function CallsPage() {
  const project = useProject()
  const navigate = useNavigate()
  const [filters, setFilters] = useFilters(FILTERS)
  const { live, since, ...given } = filters
  // Once for each choice: a beginning that moves with the clock would be a new question every time.
  const from = useMemo(() => sinceOf(since), [since])
  const query = { ...withoutHalfPair(given), ...(from !== undefined && { from }) } as Parameters<typeof useCalls>[1]
  const isFiltered = Object.keys(given).length > 0 || since !== undefined
  const calls = useCalls(project.id, query, live !== 'off' && given.id === undefined)
  const ignored = useIgnoredFields(project.id)
  const clear = Object.fromEntries(FILTERS.filter((name) => name !== 'live').map((name) => [name, '']))
  return (
    <>
      <PageHeader
        title="Calls"
        context={project.name}
        description="Every request that reached a model, newest first, with its outcome, duration and cost."
        action={
          <>
            <IgnoredFieldsButton {...ignored} />
            <LiveButton
              isWanted={live !== 'off'}
              isLive={calls.isLive}
              onChange={(isOn) => setFilters({ live: isOn ? '' : 'off' })}
            />
            <a
              href={addressOf('GET /api/projects/:project/calls.csv', { params: { project: project.id }, query })}
              download
              className={buttonClasses()}
            >
              <Download aria-hidden /> CSV
            </a>
          </>
        }
      />
      {ignored.isOpen && <IgnoredFieldsList fields={ignored.fields} />}
      <Filters filters={filters} onChange={setFilters} onClear={isFiltered && (() => setFilters(clear))} />
      <DataTable
        label="Calls"
        columns={columnsFor(project.id)}
        rows={calls.items}
        keyOf={({ id }) => id}
        {...pagingOf(calls)}
        hasMore={calls.hasMore && calls.searchedTo === null}
        onRowClick={({ id }) => void navigate({ to: `/projects/${project.id}/calls/${id}` } as never)}
        empty={calls.searchedTo === null ? <NoCalls isFiltered={isFiltered} /> : <NotYet />}
      />
      {calls.searchedTo !== null && (
        <div className="mt-3">
          <Notice
            action={
              <Button size="sm" isBusy={calls.isLoadingMore} onClick={calls.loadMore}>
                Continue
              </Button>
            }
          >
            Few calls fit these filters. Searched back to {formatTime(calls.searchedTo)}.
          </Notice>
        </div>
      )}
    </>
  )
}

/** A key without its value, or the other way round, is not asked for yet. */
function withoutHalfPair({
  metadata_key: key,
  metadata_value: value,
  ...others
}: Chosen<FilterName>): Chosen<FilterName> {
  if (key === undefined || value === undefined) return others
  return { ...others, metadata_key: key, metadata_value: value }
}

function sinceOf(since: string | undefined): string | undefined {
  const backMs = SINCE[since ?? '']
  return backMs === undefined ? undefined : new Date(Date.now() - backMs).toISOString()
}

type FilterName = (typeof FILTERS)[number]

interface FiltersProps {
  filters: Chosen<FilterName>
  onChange(changes: Chosen<FilterName>): void
  onClear: (() => void) | false
}

function Filters({ filters, onChange, onClear }: FiltersProps) {
  const project = useProject()
  const { data } = useApi('GET /api/projects/:project/call-filters', { params: { project: project.id } })
  const set = (name: FilterName) => (value: string | undefined) => onChange({ [name]: value ?? '' })
  return (
    <FilterBar onClear={onClear}>
      <FilterInput label="Request or completion id" placeholder="Request id" value={filters.id} onChange={set('id')} />
      <FilterChoice label="Time" all="Any time" value={filters.since} onChange={set('since')} options={SINCES} />
      <FilterChoice
        label="Outcome"
        all="All outcomes"
        value={filters.outcome}
        onChange={set('outcome')}
        options={OUTCOMES}
      />
      <FilterChoice
        label="Model"
        all="All models"
        value={filters.model}
        onChange={set('model')}
        options={(data?.models ?? []).toSorted().map((model) => ({ value: model, label: model }))}
      />
      <FilterChoice
        label="Key"
        all="All keys"
        value={filters.key}
        onChange={set('key')}
        options={(data?.keys ?? []).map(({ id, name }) => ({ value: id, label: name }))}
      />
      <FilterChoice
        label="Streamed"
        all="Any delivery"
        value={filters.streamed}
        onChange={set('streamed')}
        options={STREAMED}
      />
      <FilterChoice label="Cost" all="Any cost" value={filters.min_cost} onChange={set('min_cost')} options={COSTS} />
      <span className="flex gap-2 max-sm:w-full">
        <FilterInput label="Metadata key" value={filters.metadata_key} onChange={set('metadata_key')} />
        <FilterInput label="Metadata value" value={filters.metadata_value} onChange={set('metadata_value')} />
      </span>
      {filters.conversation !== undefined && (
        <FilterInput label="Conversation id" value={filters.conversation} onChange={set('conversation')} />
      )}
    </FilterBar>
  )
}

/** As wide with its options as before they are known: filters must not move when those arrive. */
function FilterChoice(props: FilterSelectProps) {
  return (
    <span className="w-30 max-sm:w-[calc(50%-0.25rem)] [&_select]:w-full [&>span]:w-full">
      <FilterSelect {...props} />
    </span>
  )
}

const SINCES = [
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
]
const OUTCOMES = [
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
  { value: 'hung_up', label: 'Caller hung up' },
  { value: 'hold_used_up', label: 'Credit ran out' },
]
const STREAMED = [
  { value: 'true', label: 'Streamed' },
  { value: 'false', label: 'Not streamed' },
]
const COSTS = ['0.001', '0.01', '0.1', '1'].map((value) => ({ value, label: `From $${value}` }))

function LiveButton({
  isWanted,
  isLive,
  onChange,
}: {
  isWanted: boolean
  isLive: boolean
  onChange(isOn: boolean): void
}) {
  return (
    <Button
      aria-pressed={isWanted}
      className="w-24"
      title={isWanted ? 'Asks for new calls every two seconds' : 'New calls are not asked for'}
      icon={<Radio aria-hidden className={isLive ? 'text-good' : 'text-faint'} />}
      onClick={() => onChange(!isWanted)}
    >
      {isWanted ? 'Live' : 'Paused'}
    </Button>
  )
}

function columnsFor(projectId: string): Column<CallItem>[] {
  return [
    {
      label: 'When',
      isTitle: true,
      width: 'w-44',
      cell: ({ id, beganAt }) => (
        <Link to={`/projects/${projectId}/calls/${id}`} aria-label={`Call of ${formatTime(beganAt)}`}>
          <Time iso={beganAt} />
        </Link>
      ),
    },
    { label: 'Outcome', cell: (call) => <CallStatus call={call} /> },
    { label: 'Model', cell: ({ model }) => <span className="block max-w-52 truncate">{model}</span> },
    { label: 'Endpoint', cell: ({ endpoint }) => endpoint.replace('/v1/', '') },
    {
      label: 'Key',
      cell: ({ keyName }) =>
        keyName === null ? <Nothing label="deleted" /> : <span className="block max-w-36 truncate">{keyName}</span>,
    },
    {
      label: 'Input',
      align: 'right',
      cell: ({ tokens }) => <Tokens count={tokens.input + tokens.cachedInput + tokens.cacheWrite} />,
    },
    { label: 'Output', align: 'right', cell: ({ tokens }) => <Tokens count={tokens.output + tokens.reasoning} /> },
    { label: 'First token', align: 'right', cell: ({ firstTokenMs }) => <Duration ms={firstTokenMs} /> },
    { label: 'Duration', align: 'right', cell: ({ durationMs }) => <Duration ms={durationMs} /> },
    { label: 'Charged', align: 'right', cell: ({ chargedNanos }) => <Money nanos={chargedNanos} /> },
  ]
}

function NoCalls({ isFiltered }: { isFiltered: boolean }) {
  const project = useProject()
  const start = (
    <Link to={`/projects/${project.id}/quick-start`} look="secondary">
      Quick start
    </Link>
  )
  return (
    <EmptyState
      icon={List}
      title={isFiltered ? 'No call fits these filters' : 'No calls yet'}
      action={!isFiltered && start}
    >
      {isFiltered
        ? 'Choose a longer time or fewer filters. Requests that were refused before they reached a model are not listed.'
        : 'As soon as your site asks a model something, the call appears here by itself.'}
    </EmptyState>
  )
}

function NotYet() {
  return (
    <EmptyState icon={List} title="Nothing found so far">
      The search stopped early so that the page stays fast. It can go on from there.
    </EmptyState>
  )
}
