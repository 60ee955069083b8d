import { Download } from 'lucide-react'
import { addressOf } from '../../api.ts'
import { buttonClasses } from '../../components/button.tsx'
import { FilterBar } from '../../components/filter-bar.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Select } from '../../components/select.tsx'
import { useFilters } from '../../filters.ts'
import { useApi } from '../../queries.ts'
import { useProject, usePublisher } from '../../session.ts'
import { RangeFilter } from './range-filter.tsx'
import { RANGE_FILTERS } from './ranges.ts'
import { useSpan } from './use-span.ts'
import { SHOWN, shownOf } from './shown.ts'
import { UsageView } from './usage-view.tsx'

const FILTERS = [...RANGE_FILTERS, 'by', 'show'] as const
const EVERY_MS = 30_000

export function UsagePage() {
  const project = useProject()
  const [filters, setFilters] = useFilters(FILTERS)
  const by = filters.by === 'key' ? ('key' as const) : ('model' as const)
  const call = { params: { project: project.id }, query: { ...useSpan(filters), by } }
  const usage = useApi('GET /api/projects/:project/usage', call, { everyMs: EVERY_MS })
  const download = (
    <a href={addressOf('GET /api/projects/:project/usage.csv', call)} download className={buttonClasses()}>
      <Download aria-hidden /> CSV
    </a>
  )
  return (
    <>
      <PageHeader
        title="Usage"
        context={project.name}
        description="Calls, tokens, failures and speed of this project, by model or by key."
        action={download}
      />
      <FilterBar>
        <RangeFilter filters={filters} onChange={setFilters} />
        <Choice
          label="Group by"
          value={by}
          onChange={(next) => setFilters({ by: next })}
          options={[
            ['model', 'By model'],
            ['key', 'By key'],
          ]}
        />
        <Choice label="Show" value={shownOf(filters.show)} onChange={(show) => setFilters({ show })} options={SHOWN} />
      </FilterBar>
      <UsageView usage={usage} show={shownOf(filters.show)} projectId={project.id} />
    </>
  )
}

export function PublisherUsagePage() {
  const publisher = usePublisher()
  const [filters, setFilters] = useFilters(FILTERS)
  const by = filters.by === 'model' ? ('model' as const) : ('project' as const)
  const call = { params: { publisher: publisher.id }, query: { ...useSpan(filters), by } }
  const usage = useApi('GET /api/publishers/:publisher/usage', call, { everyMs: EVERY_MS })
  return (
    <>
      <PageHeader
        title="Usage of all projects"
        context={publisher.name}
        description="What this account’s projects use, together and one by one."
      />
      <FilterBar>
        <RangeFilter filters={filters} onChange={setFilters} />
        <Choice
          label="Group by"
          value={by}
          onChange={(next) => setFilters({ by: next })}
          options={[
            ['project', 'By project'],
            ['model', 'By model'],
          ]}
        />
        <Choice label="Show" value={shownOf(filters.show)} onChange={(show) => setFilters({ show })} options={SHOWN} />
      </FilterBar>
      <UsageView usage={usage} show={shownOf(filters.show)} />
    </>
  )
}

interface ChoiceProps {
  label: string
  value: string
  onChange(value: string): void
  options: readonly (readonly [string, string])[]
}

function Choice({ label, value, onChange, options }: ChoiceProps) {
  return (
    <Select
      fit="filter"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      options={options.map(([id, name]) => ({ value: id, label: name }))}
    />
  )
}
