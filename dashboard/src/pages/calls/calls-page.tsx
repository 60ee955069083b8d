import { useNavigate } from '@tanstack/react-router'
import { Download, List, Radio } from 'lucide-react'
import { useMemo } from 'react'
import { addressOf } from '../../api.ts'
import { Button, buttonClasses } from '../../components/button.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Duration, Money, Nothing, Time, Tokens } from '../../components/figures.tsx'
import { Link } from '../../components/link.tsx'
import { Notice } from '../../components/notice.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useFilters } from '../../filters.ts'
import { formatTime, formatTimeInUtc } from '../../formats.ts'
import { pagingOf } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { CallFilterBar } from './call-filter-bar.tsx'
import { CALL_FILTERS, sinceOf, withoutHalfPair } from './call-filters.ts'
import { CallStatus } from './call-status.tsx'
import { IgnoredFieldsButton, IgnoredFieldsList, useIgnoredFields } from './ignored-fields.tsx'
import { useCalls, type CallItem } from './use-calls.ts'

export function CallsPage() {
  const project = useProject()
  const navigate = useNavigate()
  const [filters, setFilters] = useFilters(CALL_FILTERS)
  const { live, since, ...given } = filters
  // Once for each choice: a beginning that moves with the clock would be a new question every time.
  const from = useMemo(() => sinceOf(since), [since])
  const query = { ...withoutHalfPair(given), ...(from !== undefined && { from }) } as Parameters<typeof useCalls>[1]
  const isFiltered = Object.keys(given).length > 0 || since !== undefined
  const calls = useCalls(project.id, query, live !== 'off' && given.id === undefined)
  const ignored = useIgnoredFields(project.id)
  const clear = Object.fromEntries(CALL_FILTERS.filter((name) => name !== 'live').map((name) => [name, '']))
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
      <CallFilterBar filters={filters} onChange={setFilters} onClear={isFiltered && (() => setFilters(clear))} />
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
            Few calls match these filters. Searched back to {formatTime(calls.searchedTo)}.
          </Notice>
        </div>
      )}
    </>
  )
}

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
      title={isWanted ? 'Refreshes every two seconds' : 'Not refreshing'}
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
      compact: 4,
      width: 'w-40',
      cell: ({ id, beganAt }) => (
        <Link to={`/projects/${projectId}/calls/${id}`} aria-label={`Call of ${formatTimeInUtc(beganAt)}`}>
          <Time iso={beganAt} as="moment" />
        </Link>
      ),
    },
    { label: 'Outcome', compact: 3, cell: (call) => <CallStatus call={call} /> },
    {
      label: 'Model',
      compact: 1,
      cell: ({ model }) => <span className="block truncate sm:max-w-52">{model}</span>,
    },
    {
      label: 'Endpoint',
      // The last word is enough to tell them apart, and leaves room for what the call cost.
      cell: ({ endpoint }) => <span title={endpoint}>{endpoint.replace('/v1/', '').replace('/completions', '')}</span>,
    },
    {
      label: 'Key',
      cell: ({ keyName }) =>
        keyName === null ? (
          <Nothing label="deleted" />
        ) : (
          <span className="block max-w-36 truncate" title={keyName}>
            {keyName}
          </span>
        ),
    },
    {
      label: 'Input',
      align: 'right',
      cell: ({ tokens }) => <Tokens count={tokens.input + tokens.cachedInput + tokens.cacheWrite} />,
    },
    { label: 'Output', align: 'right', cell: ({ tokens }) => <Tokens count={tokens.output + tokens.reasoning} /> },
    { label: 'First token', align: 'right', cell: ({ firstTokenMs }) => <Duration ms={firstTokenMs} /> },
    { label: 'Duration', align: 'right', cell: ({ durationMs }) => <Duration ms={durationMs} /> },
    {
      label: 'Charged',
      align: 'right',
      compact: 2,
      amountOf: ({ chargedNanos }) => chargedNanos,
      cell: ({ chargedNanos }, decimals) => <Money nanos={chargedNanos} decimals={decimals} />,
    },
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
      title={isFiltered ? 'No calls match these filters' : 'No calls yet'}
      action={!isFiltered && start}
    >
      {isFiltered
        ? 'Choose a longer time or fewer filters.'
        : 'As soon as your site calls a model, the call appears here.'}{' '}
      Requests that were refused before they reached a model are under{' '}
      <Link to={`/projects/${project.id}/refused-requests`}>Refused requests</Link>.
    </EmptyState>
  )
}

function NotYet() {
  return (
    <EmptyState icon={List} title="Nothing found so far">
      The search stopped early to keep the page fast. It can continue from there.
    </EmptyState>
  )
}
