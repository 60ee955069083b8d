import { ContactRound, SearchX } from 'lucide-react'
import { CodeBlock } from '../../components/code-block.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { Link } from '../../components/link.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { EmptyState } from '../../components/states.tsx'
import { pagingOf, useApi, useApiList, useChange } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { endUserColumns } from './end-user-columns.tsx'
import { curlForEndUser } from './end-user.ts'
import { SearchForm } from './search-form.tsx'

const EVERY_MS = 15_000
const NOTE =
  'Calls, tokens and spend cover the last 30 days in UTC, including today. Parley keeps a keyed digest of your id, never the id itself.'

export function EndUsersPage() {
  const project = useProject()
  const params = { project: project.id }
  const list = useApiList('GET /api/projects/:project/end-users', { params }, { everyMs: EVERY_MS })
  const search = useChange('POST /api/projects/:project/end-users/search')
  const { data: shared } = useApi('GET /api/projects/:project/limits', { params })
  const isNobody = list.items?.length === 0
  const example = useApi('GET /api/projects/:project/quick-start', { params }, { enabled: isNobody })
  const isReady = !isNobody || example.data !== undefined || example.error !== null
  const searchAgain = () => search.variables && search.mutate(search.variables)
  const columns = endUserColumns({
    mayChange: project.may('admin'),
    everyone: shared?.endUsers.values,
    onChanged: searchAgain,
  })
  const curl = example.data?.snippets.find(({ id }) => id === 'curl')?.text
  return (
    <>
      <PageHeader
        title="End users"
        context={project.name}
        description="The people your app makes calls for, last seen first: what they use, and what they may use."
      />
      <SearchForm
        isBusy={search.isPending}
        isFiltered={search.data !== undefined}
        error={search.error}
        onSearch={(text) => search.mutate({ params, body: { text } })}
        onClear={search.reset}
      />
      {search.data ? (
        <DataTable
          label="End users found"
          columns={columns}
          rows={search.data.items}
          keyOf={({ id }) => id}
          note={NOTE}
          empty={
            <EmptyState icon={SearchX} title="No one found">
              Enter the complete id that you send for them, or part of their label.
            </EmptyState>
          }
        />
      ) : (
        <DataTable
          label="End users"
          columns={columns}
          rows={isReady ? list.items : undefined}
          keyOf={({ id }) => id}
          {...pagingOf(list)}
          note={NOTE}
          empty={<NobodyYet curl={curl} projectId={project.id} />}
        />
      )}
    </>
  )
}

function NobodyYet({ curl, projectId }: { curl: string | undefined; projectId: string }) {
  return (
    <div className="pb-8">
      <EmptyState icon={ContactRound} title="No end users yet">
        Say who a call is for with the header <code className="font-mono text-sm">x-end-user-id</code>, and they appear
        here within seconds. You can then cap what each of them may use, under{' '}
        <Link to={`/projects/${projectId}/limits`}>Limits</Link>.
      </EmptyState>
      {curl && (
        <CodeBlock
          className="mx-auto -mt-4 max-w-2xl max-sm:mx-4"
          title="A call for customer-17, labelled Grace"
          language="sh"
          code={curlForEndUser(curl)}
        />
      )}
    </div>
  )
}
