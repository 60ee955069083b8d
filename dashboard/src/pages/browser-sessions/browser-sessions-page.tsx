import { AppWindow } from 'lucide-react'
import { CodeBlock } from '../../components/code-block.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { FilterBar, FilterSelect } from '../../components/filter-bar.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useFilters } from '../../filters.ts'
import { pagingOf, useApi, useApiList } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { curlForSession } from './browser-session.ts'
import { EndAllButton } from './end-sessions.tsx'
import { sessionColumns } from './session-columns.tsx'

const EVERY_MS = 5_000

export function BrowserSessionsPage() {
  const project = useProject()
  const params = { project: project.id }
  const [filters, setFilters] = useFilters(['key'])
  const query = filters.key === undefined ? {} : { key: filters.key }
  const list = useApiList('GET /api/projects/:project/browser-sessions', { params, query }, { everyMs: EVERY_MS })
  const keys = useApi('GET /api/projects/:project/keys', { params })
  const isNobody = list.items?.length === 0 && filters.key === undefined
  const example = useApi('GET /api/projects/:project/quick-start', { params }, { enabled: isNobody })
  const isReady = !isNobody || example.data !== undefined || example.error !== null
  const pair = keys.data?.items.find(({ id }) => id === filters.key)
  const hasSome = (list.items?.length ?? 0) > 0
  return (
    <>
      <PageHeader
        title="Browser sessions"
        context={project.name}
        docs="sdks"
        description={`Short-lived secrets for pages of ${project.domain}, valid for an hour at most. Each has its own limits on calls and money.`}
      />
      <FilterBar onClear={filters.key !== undefined && (() => setFilters({ key: '' }))}>
        <span className="w-48 [&_select]:w-full [&>span]:w-full">
          <FilterSelect
            label="Key pair"
            all="All key pairs"
            value={filters.key}
            onChange={(key) => setFilters({ key: key ?? '' })}
            options={(keys.data?.items ?? []).filter(({ status }) => status !== 'expired').map(optionOf)}
          />
        </span>
        {pair && hasSome && project.may('developer') && <EndAllButton pair={pair} />}
      </FilterBar>
      <DataTable
        label="Browser sessions"
        columns={sessionColumns({ mayChange: project.may('developer'), domain: project.domain })}
        rows={isReady ? list.items : undefined}
        keyOf={({ id }) => id}
        {...pagingOf(list)}
        note="Newest first. Ended sessions are not listed; their calls are under Calls."
        empty={
          isNobody ? (
            <NobodyYet curl={example.data && curlForSession(example.data.gatewayUrl)} />
          ) : (
            <EmptyState icon={AppWindow} title="No sessions of this key pair">
              Its sessions have ended.
            </EmptyState>
          )
        }
      />
    </>
  )
}

function optionOf({ id, name, replacedBy }: { id: string; name: string; replacedBy: string | null }) {
  return { value: id, label: replacedBy === null ? name : `${name} (old pair)` }
}

function NobodyYet({ curl }: { curl: string | undefined }) {
  return (
    <div className="pb-8">
      <EmptyState icon={AppWindow} title="No browser sessions">
        Your server requests one when someone opens your page, and hands its secret to the page. The page then calls
        Parley directly, with that secret in place of the secret key.
      </EmptyState>
      {curl && (
        <CodeBlock
          className="mx-auto -mt-4 max-w-2xl max-sm:mx-4"
          title="A session for customer-17: 20 calls, $0.25, 15 minutes"
          language="sh"
          code={curl}
        />
      )}
    </div>
  )
}
