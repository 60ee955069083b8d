import { ShieldX } from 'lucide-react'
import { useMemo, useState } from 'react'
import { DataTable } from '../../components/data-table.tsx'
import { FilterBar, FilterInput, FilterSelect, type FilterSelectProps } from '../../components/filter-bar.tsx'
import { Link } from '../../components/link.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { EmptyState } from '../../components/states.tsx'
import { DAY_MS, HOUR_MS } from '../../durations.ts'
import { useFilters, type Filters as Chosen } from '../../filters.ts'
import { pagingOf, useApi, useApiList } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { refusedColumns, type RefusedRequest } from './refused-columns.tsx'
import { RefusedDialog } from './refused-dialog.tsx'

const FILTERS = ['id', 'since', 'status', 'code', 'key'] as const
type FilterName = (typeof FILTERS)[number]
const SINCE: Record<string, number> = { '1h': HOUR_MS, '24h': DAY_MS, '7d': 7 * DAY_MS }
const EVERY_MS = 10_000

export function RefusedRequestsPage() {
  const project = useProject()
  const [filters, setFilters] = useFilters(FILTERS)
  const [shown, setShown] = useState<RefusedRequest>()
  const { since, ...given } = filters
  // Once for each choice: a beginning that moves with the clock would be a new question every time.
  const from = useMemo(() => sinceOf(since), [since])
  const isFiltered = Object.keys(filters).length > 0
  const list = useApiList(
    'GET /api/projects/:project/refused-requests',
    { params: { project: project.id }, query: { ...given, ...(from !== undefined && { from }) } },
    { everyMs: EVERY_MS },
  )
  const clear = Object.fromEntries(FILTERS.map((name) => [name, '']))
  return (
    <>
      <PageHeader
        title="Refused requests"
        context={project.name}
        description="Requests that were refused before they reached a model, newest first, and what to do about each. None was charged."
      />
      <Filters filters={filters} onChange={setFilters} onClear={isFiltered && (() => setFilters(clear))} />
      <DataTable
        label="Refused requests"
        columns={refusedColumns((refused) => setShown(refused))}
        rows={list.items}
        keyOf={({ id }) => id}
        {...pagingOf(list)}
        onRowClick={(refused) => setShown(refused)}
        note="Kept for 14 days. If many are refused within a minute, one row stands for several, and shows how many."
        empty={<NoneRefused isFiltered={isFiltered} />}
      />
      <RefusedDialog refused={shown} onClose={() => setShown(undefined)} />
    </>
  )
}

function sinceOf(since: string | undefined): string | undefined {
  const backMs = SINCE[since ?? '']
  return backMs === undefined ? undefined : new Date(Date.now() - backMs).toISOString()
}

interface FiltersProps {
  filters: Chosen<FilterName>
  onChange(changes: Chosen<FilterName>): void
  onClear: (() => void) | false
}

function Filters({ filters, onChange, onClear }: FiltersProps) {
  const project = useProject()
  const { data } = useApi('GET /api/projects/:project/refused-request-filters', { params: { project: project.id } })
  const set = (name: FilterName) => (value: string | undefined) => onChange({ [name]: value ?? '' })
  const codes = data?.codes ?? []
  const statuses = [...new Set(codes.map(({ status }) => String(status)))].toSorted()
  const ofStatus = codes.filter(({ status }) => filters.status === undefined || String(status) === filters.status)
  return (
    <FilterBar onClear={onClear}>
      <FilterInput label="Request id" value={filters.id} onChange={set('id')} />
      <Choice label="Time" all="Any time" value={filters.since} onChange={set('since')} options={SINCES} />
      <Choice
        label="Status"
        all="All statuses"
        value={filters.status}
        onChange={(status) => onChange({ status: status ?? '', code: '' })}
        options={statuses.map((status) => ({ value: status, label: status }))}
      />
      <Choice
        label="Error code"
        all="All codes"
        value={filters.code}
        onChange={set('code')}
        options={ofStatus.map(({ code }) => ({ value: code, label: code }))}
      />
      <Choice
        label="Key"
        all="All keys"
        value={filters.key}
        onChange={set('key')}
        options={(data?.keys ?? []).map(({ id, name }) => ({ value: id, label: name }))}
      />
    </FilterBar>
  )
}

/** As wide with its options as before they are known: filters must not move when those arrive. */
function Choice(props: FilterSelectProps) {
  return (
    <span className="w-36 max-sm:w-[calc(50%-0.25rem)] [&_select]:w-full [&>span]:w-full">
      <FilterSelect {...props} />
    </span>
  )
}

const SINCES = [
  { value: '1h', label: 'Last hour' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
]

function NoneRefused({ isFiltered }: { isFiltered: boolean }) {
  const project = useProject()
  if (isFiltered)
    return (
      <EmptyState icon={ShieldX} title="No refused requests match these filters">
        Choose a longer time or fewer filters.
      </EmptyState>
    )
  return (
    <EmptyState
      icon={ShieldX}
      title="No refused requests"
      action={
        <Link to={`/projects/${project.id}/quick-start`} look="secondary">
          Quick start
        </Link>
      }
    >
      A request with a wrong secret key, an unknown model, a field that is not valid, or over a limit appears here
      within seconds, with what to do about it.
    </EmptyState>
  )
}
