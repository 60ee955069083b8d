import { Download, ScrollText } from 'lucide-react'
import { addressOf, type Item } from '../../api.ts'
import { buttonClasses } from '../../components/button.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Nothing, Time } from '../../components/figures.tsx'
import { FilterBar, FilterInput, FilterSelect } from '../../components/filter-bar.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useFilters } from '../../filters.ts'
import { pagingOf, useApi, useApiList } from '../../queries.ts'
import { usePublisher } from '../../session.ts'

type Entry = Item<'GET /api/publishers/:publisher/audit-log'>

export function AuditLogPage() {
  const publisher = usePublisher()
  const params = { publisher: publisher.id }
  const [filters, setFilters] = useFilters(['action', 'actor', 'project'] as const)
  const log = useApiList('GET /api/publishers/:publisher/audit-log', { params, query: filters })
  const team = useApi('GET /api/publishers/:publisher/team', { params })
  const isFiltered = Object.keys(filters).length > 0
  const download = (
    <a
      href={addressOf('GET /api/publishers/:publisher/audit-log.csv', { params, query: filters })}
      download
      className={buttonClasses()}
    >
      <Download aria-hidden /> CSV
    </a>
  )
  return (
    <>
      <PageHeader
        title="Audit log"
        context={publisher.name}
        description="Every change: who made it, what it was, when, and from where."
        action={download}
      />
      <FilterBar onClear={isFiltered && (() => setFilters({ action: '', actor: '', project: '' }))}>
        <FilterInput
          label="Action"
          placeholder="Such as Signed in"
          value={filters.action}
          onChange={(action) => setFilters({ action: action ?? '' })}
        />
        <span className="w-40 [&_select]:w-full [&>span]:w-full">
          {/* As wide with the names as before they are known. */}
          <FilterSelect
            label="Who"
            all="Everyone"
            value={filters.actor}
            onChange={(actor) => setFilters({ actor: actor ?? '' })}
            options={(team.data?.members ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          />
        </span>
        <FilterSelect
          label="Project"
          all="All projects"
          value={filters.project}
          onChange={(project) => setFilters({ project: project ?? '' })}
          options={publisher.projects.map(({ id, name }) => ({ value: id, label: name }))}
        />
      </FilterBar>
      <DataTable
        label="Audit log"
        columns={columnsFor(publisher.projects, team.data?.members)}
        // Not before the addresses are known, or known to be missing: they change the height of a row and the width of a column.
        rows={team.isPending ? undefined : log.items}
        keyOf={({ seq }) => seq}
        {...pagingOf(log)}
        empty={
          <EmptyState
            icon={ScrollText}
            title={isFiltered ? 'Nothing matches these filters' : 'Nothing has happened yet'}
          >
            Sign-ins and changes to keys, domains, payments and the team are recorded here and cannot be altered.
          </EmptyState>
        }
      />
    </>
  )
}

interface Member {
  id: string
  email: string
}

function columnsFor(projects: { id: string; name: string }[], members: Member[] | undefined): Column<Entry>[] {
  return [
    { label: 'Action', isTitle: true, width: 'w-44', cell: ({ action, title }) => <span title={action}>{title}</span> },
    { label: 'Who', width: 'w-44', cell: (entry) => <Who entry={entry} members={members} /> },
    { label: 'What', cell: (entry) => <Subject entry={entry} /> },
    {
      label: 'Project',
      width: 'w-32',
      cell: ({ projectId }) => projects.find(({ id }) => id === projectId)?.name ?? <Nothing />,
    },
    {
      label: 'Address',
      width: 'w-36',
      cell: ({ ip }) => (ip ? <code className="font-mono text-sm">{ip}</code> : <Nothing />),
    },
    { label: 'When', width: 'w-28', align: 'right', cell: ({ at }) => <Time iso={at} as="age" /> },
  ]
}

/** With the address: people choose their names, and two may have the same. */
function Who({ entry: { actor, actorId }, members }: { entry: Entry; members: Member[] | undefined }) {
  const email = members?.find(({ id }) => id === actorId)?.email
  return (
    <span className="block max-w-44">
      <span className="block truncate">{actor}</span>
      {actorId !== null && members && (
        <span className="block truncate text-sm text-muted" title={email ?? actorId}>
          {email ?? 'no longer on the team'}
        </span>
      )}
    </span>
  )
}

function Subject({ entry }: { entry: Entry }) {
  const details = Object.entries(entry.details).map(([name, value]) => `${name}: ${textOf(value)}`)
  if (entry.subject === null && details.length === 0) return <Nothing />
  return (
    <span
      className="block max-w-64 truncate text-sm text-muted"
      title={[entry.subject, ...details].filter(Boolean).join('\n')}
    >
      {[entry.subject, ...details].filter(Boolean).join(' · ')}
    </span>
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
