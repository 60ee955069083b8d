import { useNavigate } from '@tanstack/react-router'
import { MessagesSquare } from 'lucide-react'
import type { Item } from '../../api.ts'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Money, Nothing, Time, Tokens } from '../../components/figures.tsx'
import { FilterBar, FilterInput } from '../../components/filter-bar.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useFilters } from '../../filters.ts'
import { formatCount, formatCountExactly } from '../../formats.ts'
import { pagingOf, useApi, useApiList } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { netOf } from '../earnings/net.ts'
import { Count } from '../usage/count.tsx'
import { hasEarned } from './earned.ts'
import { MessageSearch } from './message-search.tsx'

type Conversation = Item<'GET /api/projects/:project/conversations'>

const EVERY_MS = 15_000

export function ConversationsPage() {
  const project = useProject()
  const navigate = useNavigate()
  const params = { project: project.id }
  const [filters, setFilters] = useFilters(['id'] as const)
  const list = useApiList('GET /api/projects/:project/conversations', { params, query: filters }, { everyMs: EVERY_MS })
  const { data: settings } = useApi('GET /api/projects/:project', { params })
  const pathOf = ({ id }: Conversation) => `/projects/${project.id}/conversations/${id}`
  return (
    <>
      <PageHeader
        title="Conversations"
        context={project.name}
        description="Messages grouped by x-conversation-id, latest activity first."
      />
      <MessageSearch>
        <FilterBar onClear={filters.id !== undefined && (() => setFilters({ id: '' }))}>
          <FilterInput label="Conversation id" value={filters.id} onChange={(id) => setFilters({ id: id ?? '' })} />
        </FilterBar>
        <DataTable
          label="Conversations"
          columns={columnsFor(pathOf, list.items?.some(hasEarned) ?? false)}
          rows={list.items}
          keyOf={({ id }) => id}
          {...pagingOf(list)}
          onRowClick={(row) => void navigate({ to: pathOf(row) } as never)}
          empty={
            <EmptyState
              icon={MessagesSquare}
              title={filters.id ? 'No conversation has this id' : 'No conversations yet'}
            >
              Send the header <code className="font-mono text-sm">x-conversation-id</code> with your calls. Calls with
              the same id form one conversation here.
            </EmptyState>
          }
        />
      </MessageSearch>
      {settings?.contentRetentionDays === 0 && (
        <div className="mt-4">
          <Notice action={<SettingsLink projectId={project.id} />}>
            This project keeps no text: conversations show who spoke and what it cost, but not what was said.
          </Notice>
        </div>
      )}
    </>
  )
}

function SettingsLink({ projectId }: { projectId: string }) {
  return (
    <Link to={`/projects/${projectId}/settings`} className="text-sm">
      Change in settings
    </Link>
  )
}

/** Earnings have columns where any of these conversations earned something. */
function columnsFor(pathOf: (row: Conversation) => string, withEarnings: boolean): Column<Conversation>[] {
  return [
    { label: 'Conversation', isTitle: true, cell: (row) => <Title row={row} to={pathOf(row)} /> },
    {
      label: 'Messages',
      align: 'right',
      width: 'w-24',
      cell: (row) => <MessageCount row={row} />,
    },
    { label: 'Calls', align: 'right', width: 'w-20', cell: ({ calls }) => <Count of={calls} /> },
    { label: 'Tokens', align: 'right', width: 'w-24', cell: (row) => <TokenSum row={row} /> },
    {
      label: 'Cost',
      align: 'right',
      width: 'w-28',
      amountOf: ({ chargedNanos }) => chargedNanos,
      cell: ({ chargedNanos }, decimals) =>
        chargedNanos === null ? (
          <Nothing label="not counted yet" />
        ) : (
          <Money nanos={chargedNanos} decimals={decimals} />
        ),
    },
    ...(withEarnings ? earningColumns : []),
    {
      label: 'Last activity',
      align: 'right',
      width: 'w-32',
      cell: ({ lastCallAt }) => <Time iso={lastCallAt} as="age" />,
    },
  ]
}

const earningColumns: Column<Conversation>[] = [
  {
    label: 'Earned',
    align: 'right',
    width: 'w-28',
    amountOf: ({ earnedNanos }) => earnedNanos,
    cell: (row, decimals) =>
      hasEarned(row) ? <Money nanos={row.earnedNanos} decimals={decimals} className="text-earn" /> : <Nothing />,
  },
  { label: 'Net', align: 'right', width: 'w-28', cell: (row) => <Net row={row} /> },
]

/** A gain has a plus: all else is a cost. */
function Net({ row: { chargedNanos, earnedNanos } }: { row: Conversation }) {
  if (chargedNanos === null) return <Nothing label="not counted yet" />
  const { label, nanos } = netOf({ costNanos: chargedNanos, earnedNanos })
  return <Money nanos={nanos} sign={label === 'Net gain'} className={label === 'Net gain' ? 'text-earn' : ''} />
}

function Title({ row, to }: { row: Conversation; to: string }) {
  return (
    <div className="max-w-md min-w-0 py-1">
      <Link to={to} className="block truncate text-ink">
        {row.title === null ? <span className="font-mono text-sm">{row.id}</span> : <bdi>{row.title}</bdi>}
      </Link>
      {row.title !== null && <p className="truncate font-mono text-xs text-muted">{row.id}</p>}
    </div>
  )
}

function MessageCount({ row: { messages, hasMoreMessages } }: { row: Conversation }) {
  return (
    <data
      value={messages}
      title={`${formatCountExactly(messages)}${hasMoreMessages ? ' or more' : ''} messages`}
      className="tabular whitespace-nowrap"
    >
      {formatCount(messages)}
      {hasMoreMessages && ' and more'}
    </data>
  )
}

function TokenSum({ row }: { row: Conversation }) {
  if (row.inputTokens === null || row.outputTokens === null) return <Nothing label="not counted yet" />
  return <Tokens count={String(BigInt(row.inputTokens) + BigInt(row.outputTokens))} />
}
