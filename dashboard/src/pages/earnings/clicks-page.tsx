import { ArrowLeft, MousePointerClick } from 'lucide-react'
import { DataTable } from '../../components/data-table.tsx'
import { FilterBar, FilterSelect } from '../../components/filter-bar.tsx'
import { Link } from '../../components/link.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useFilters } from '../../filters.ts'
import { pagingOf, useApiList } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { clickColumns } from './click-columns.tsx'
import { ClickDialog } from './click-dialog.tsx'
import type { ClickFilters } from './clicks-address.ts'
import { STATES, VERDICTS } from './verdicts.ts'

const FILTERS = ['verdict', 'state', 'advertiser', 'from', 'to'] as const
const EVERY_MS = 15_000

export function ClicksPage() {
  const project = useProject()
  const [filters, setFilters] = useFilters(FILTERS)
  const [{ click }, setOpen] = useFilters(['click'] as const)
  const isFiltered = Object.keys(filters).length > 0
  const list = useApiList(
    'GET /api/projects/:project/clicks',
    // The address is passed on as it is: the server refuses a value that is no verdict or no state.
    { params: { project: project.id }, query: filters as ClickFilters },
    { everyMs: EVERY_MS },
  )
  const clear = Object.fromEntries(FILTERS.map((name) => [name, '']))
  const show = (id: string | undefined) => setOpen({ click: id ?? '' })
  return (
    <>
      <p className="mb-3">
        <Link to={`/projects/${project.id}/earnings`} className="inline-flex items-center gap-1.5 text-sm">
          <ArrowLeft aria-hidden className="size-4" /> Earnings
        </Link>
      </p>
      <PageHeader
        title="Clicks"
        context={project.name}
        docs="clicks"
        description="Every click on a recommendation, newest first, and what became of it. Only valid ones are paid for."
      />
      <FilterBar onClear={isFiltered && (() => setFilters(clear))}>
        <FilterSelect
          label="Verdict"
          all="All verdicts"
          value={filters.verdict}
          onChange={(verdict) => setFilters({ verdict: verdict ?? '' })}
          options={optionsOf(VERDICTS)}
        />
        <FilterSelect
          label="State"
          all="All states"
          value={filters.state}
          onChange={(state) => setFilters({ state: state ?? '' })}
          options={optionsOf(STATES)}
        />
      </FilterBar>
      <DataTable
        label="Clicks"
        columns={clickColumns(project.id, show)}
        rows={list.items}
        keyOf={({ id }) => id}
        {...pagingOf(list)}
        onRowClick={({ id }) => show(id)}
        empty={<NoClicks isFiltered={isFiltered} projectId={project.id} />}
      />
      <ClickDialog projectId={project.id} click={click} onClose={() => show(undefined)} />
    </>
  )
}

function optionsOf(labels: Record<string, string>) {
  return Object.entries(labels).map(([value, label]) => ({ value, label }))
}

function NoClicks({ isFiltered, projectId }: { isFiltered: boolean; projectId: string }) {
  if (isFiltered)
    return (
      <EmptyState icon={MousePointerClick} title="No clicks match these filters">
        Choose fewer filters or a longer time.
      </EmptyState>
    )
  return (
    <EmptyState
      icon={MousePointerClick}
      title="No clicks yet"
      action={
        <Link to={`/projects/${projectId}/monetization`} look="secondary">
          Monetization
        </Link>
      }
    >
      When a reader opens the link of a recommendation, the click appears here within seconds.
    </EmptyState>
  )
}
