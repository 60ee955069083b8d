import { Boxes } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { FilterBar, FilterInput } from '../../components/filter-bar.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Select } from '../../components/select.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { useFilters } from '../../filters.ts'
import { useApi } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { foundModels, SORTS, sortOf, type Model } from './found-models.ts'
import { ModelCard } from './model-card.tsx'

const STEP = 50

export function ModelsPage() {
  const project = useProject()
  const [filters, setFilters] = useFilters(['q', 'sort'] as const)
  const { data, error, refetch } = useApi('GET /api/projects/:project/catalogue', { params: { project: project.id } })
  const sort = sortOf(filters.sort)
  return (
    <>
      <PageHeader
        title="Models"
        context={project.name}
        description="Every model this project may call: its price, its features, and how it did for you in the last 24 hours."
      />
      <FilterBar onClear={filters.q !== undefined && (() => setFilters({ q: '' }))}>
        <FilterInput label="Search models" value={filters.q} onChange={(q) => setFilters({ q: q ?? '' })} />
        <Select
          fit="filter"
          aria-label="Sort"
          value={sort}
          onChange={(event) => setFilters({ sort: event.target.value })}
          options={SORTS.map(([value, label]) => ({ value, label }))}
        />
      </FilterBar>
      {error && !data ? (
        <Card>
          <ErrorState error={error} onRetry={() => void refetch()} />
        </Card>
      ) : data ? (
        <Found
          key={`${filters.q} ${sort}`}
          models={foundModels(data.items, filters.q ?? '', sort)}
          measuredFrom={data.measuredFrom}
          isSearched={filters.q !== undefined}
        />
      ) : (
        <div role="status" aria-label="Loading" className="flex flex-col gap-4">
          <Skeleton className="h-56 w-full rounded-lg" />
          <Skeleton className="h-56 w-full rounded-lg" />
        </div>
      )}
    </>
  )
}

interface FoundProps {
  models: Model[]
  measuredFrom: string
  isSearched: boolean
}

function Found({ models, measuredFrom, isSearched }: FoundProps) {
  const [shown, setShown] = useState(STEP)
  if (models.length === 0) {
    return (
      <Card>
        <EmptyState icon={Boxes} title={isSearched ? 'No model matches this search' : 'No models yet'}>
          {isSearched
            ? 'Search for part of an id, a vendor, or a feature, such as “tools”.'
            : 'The operator of this installation has not offered any, or this project’s settings allow none of them.'}
        </EmptyState>
      </Card>
    )
  }
  return (
    <>
      <ul aria-label="Models" className="flex flex-col gap-4">
        {models.slice(0, shown).map((model) => (
          <ModelCard key={model.id} model={model} measuredFrom={measuredFrom} />
        ))}
      </ul>
      {models.length > shown && (
        <div className="mt-4 flex justify-center">
          <Button look="ghost" onClick={() => setShown(shown + STEP)}>
            Show more
          </Button>
        </div>
      )}
      <p className="mt-4 text-sm text-muted">
        Prices are dollars per million tokens. Times and failures are those of this project’s own calls.
      </p>
    </>
  )
}
