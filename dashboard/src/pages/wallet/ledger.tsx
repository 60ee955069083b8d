import { Activity, ArrowDownLeft, ArrowUpRight, Download, ReceiptText } from 'lucide-react'
import { useState } from 'react'
import { addressOf, type Item } from '../../api.ts'
import { buttonClasses } from '../../components/button.tsx'
import { classes } from '../../components/classes.ts'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Money, Nothing, Time } from '../../components/figures.tsx'
import { FilterBar, FilterSelect } from '../../components/filter-bar.tsx'
import { Link } from '../../components/link.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useFilters } from '../../filters.ts'
import { formatCounted } from '../../formats.ts'
import { pagingOf, useApiList } from '../../queries.ts'
import { useProject } from '../../session.ts'
import { dayOf, spanOfDay } from './days.ts'
import { fromOf, PERIODS } from './periods.ts'

type Entry = Item<'GET /api/projects/:project/ledger'>
type Kind = Entry['kind']

const KINDS: { value: Kind; label: string }[] = [
  { value: 'usage', label: 'Usage' },
  { value: 'topup', label: 'Top-ups' },
  { value: 'grant', label: 'Credit granted' },
  { value: 'ad_revenue', label: 'Earnings' },
  { value: 'refund', label: 'Refunds' },
  { value: 'chargeback', label: 'Chargebacks' },
  { value: 'adjustment', label: 'Adjustments' },
  { value: 'reversal', label: 'Reversals' },
  { value: 'late_charge', label: 'Late charges' },
  { value: 'owed', label: 'Owed' },
  { value: 'collection', label: 'Debt paid' },
]

export function Ledger() {
  const project = useProject()
  const [nowMs] = useState(() => Date.now())
  const [filters, setFilters] = useFilters(['kind', 'days'] as const)
  const params = { project: project.id }
  const query = { ...(filters.kind && { kind: filters.kind as Kind }), ...fromOf(filters.days, nowMs) }
  const ledger = useApiList('GET /api/projects/:project/ledger', { params, query })
  const isFiltered = filters.kind !== undefined || filters.days !== undefined
  return (
    <section aria-labelledby="ledger">
      <div className="mb-3 flex items-center justify-between gap-4">
        <h2 id="ledger" className="text-base font-semibold">
          Ledger
        </h2>
        <a
          href={addressOf('GET /api/projects/:project/ledger.csv', { params, query })}
          download
          className={buttonClasses()}
        >
          <Download aria-hidden /> CSV
        </a>
      </div>
      <FilterBar onClear={isFiltered && (() => setFilters({ kind: '', days: '' }))}>
        <FilterSelect
          label="Type"
          all="All types"
          value={filters.kind}
          onChange={(kind) => setFilters({ kind: kind ?? '' })}
          options={KINDS}
        />
        <FilterSelect
          label="Period"
          all="All time"
          value={filters.days}
          onChange={(days) => setFilters({ days: days ?? '' })}
          options={PERIODS}
        />
      </FilterBar>
      <DataTable
        label="Ledger"
        columns={columnsFor(project.id)}
        rows={ledger.items}
        keyOf={({ id }) => id}
        {...pagingOf(ledger)}
        empty={
          <EmptyState icon={ReceiptText} title={isFiltered ? 'Nothing matches these filters' : 'No transactions yet'}>
            Every top-up, grant and refund appears here, and what calls cost, summed for each day in UTC.
          </EmptyState>
        }
      />
    </section>
  )
}

function columnsFor(projectId: string): Column<Entry>[] {
  return [
    { label: 'Type', isTitle: true, cell: (entry) => <Kind entry={entry} /> },
    { label: 'Time', width: 'w-44', cell: (entry) => <When entry={entry} /> },
    { label: 'Reference', cell: (entry) => <Reference entry={entry} projectId={projectId} /> },
    {
      label: 'Amount',
      align: 'right',
      width: 'w-32',
      amountOf: ({ deltaNanos }) => deltaNanos,
      cell: ({ deltaNanos }, decimals) => <Amount nanos={deltaNanos} decimals={decimals} />,
    },
    {
      label: 'Balance after',
      align: 'right',
      width: 'w-32',
      amountOf: ({ balanceAfterNanos }) => balanceAfterNanos,
      cell: ({ balanceAfterNanos }, decimals) => (
        <Money nanos={balanceAfterNanos} decimals={decimals} className="text-muted" />
      ),
    },
  ]
}

function Kind({ entry }: { entry: Entry }) {
  const isIn = BigInt(entry.deltaNanos) > 0n
  const Icon = entry.kind === 'usage' ? Activity : isIn ? ArrowDownLeft : ArrowUpRight
  return (
    <span className="flex items-center gap-2.5">
      <Icon className={classes('size-4 shrink-0', isIn ? 'text-good' : 'text-muted')} aria-hidden />
      <span className="font-medium whitespace-nowrap">{entry.title}</span>
    </span>
  )
}

function When({ entry }: { entry: Entry }) {
  if (entry.kind !== 'usage') return <Time iso={entry.at} />
  return (
    <time
      dateTime={entry.id}
      title={`All calls that began on ${entry.id} in UTC`}
      className="tabular whitespace-nowrap"
    >
      {dayOf(entry.at)}
    </time>
  )
}

function Reference({ entry, projectId }: { entry: Entry; projectId: string }) {
  if (entry.kind === 'usage') {
    const calls = entry.calls === null ? 'Calls' : formatCounted(entry.calls, 'call')
    return (
      <Link to={`/projects/${projectId}/calls`} search={spanOfDay(entry.at)} className="text-sm">
        {calls}
      </Link>
    )
  }
  if (entry.call !== null) {
    return (
      <Link to={`/projects/${projectId}/calls/${entry.call}`} className="text-sm">
        See the call
      </Link>
    )
  }
  const said = entry.reason ?? entry.reference
  if (!said) return <Nothing />
  return (
    <span
      title={[entry.reason, entry.reference].filter(Boolean).join('\n')}
      className="block max-w-72 truncate text-sm text-muted max-sm:max-w-48"
    >
      {said}
    </span>
  )
}

function Amount({ nanos, decimals }: { nanos: string; decimals: number }) {
  const ink = BigInt(nanos) > 0n ? 'font-medium text-good' : 'font-medium'
  return <Money nanos={nanos} sign decimals={decimals} className={ink} />
}
