import { Badge } from '../../components/badge.tsx'
import { classes } from '../../components/classes.ts'
import type { Column } from '../../components/data-table.tsx'
import { Money, Nothing, Time, Tokens } from '../../components/figures.tsx'
import { Count } from '../usage/count.tsx'
import { BudgetBar } from '../limits/limit-bars.tsx'
import { hasLimits, tightestOf, type LimitValues } from '../limits/limit-lines.ts'
import { EndUserActions } from './end-user-actions.tsx'
import type { EndUser } from './end-user.ts'

export interface ColumnOptions {
  mayChange: boolean
  /** The limits of end users without limits of their own; undefined while loading. */
  everyone: LimitValues | undefined
  onChanged(): void
}

export function endUserColumns({ mayChange, everyone, onChanged }: ColumnOptions): Column<EndUser>[] {
  return [
    { label: 'End user', isTitle: true, cell: (user) => <Name user={user} /> },
    { label: 'Budget', width: 'w-64', cell: (user) => <Tightest user={user} /> },
    { label: 'Calls', align: 'right', width: 'w-20', cell: ({ calls30d }) => <Count of={Number(calls30d)} /> },
    { label: 'Tokens', align: 'right', width: 'w-24', cell: ({ tokens30d }) => <Tokens count={tokens30d} /> },
    {
      label: '30 days',
      align: 'right',
      width: 'w-24',
      amountOf: ({ spent30dNanos }) => spent30dNanos,
      cell: ({ spent30dNanos }, decimals) => <Money nanos={spent30dNanos} decimals={decimals} />,
    },
    {
      label: 'Last seen',
      align: 'right',
      width: 'w-28',
      cell: ({ lastSeenAt }) => <Time iso={lastSeenAt} as="age" />,
    },
    {
      label: 'Actions',
      isActions: 'menu',
      width: 'w-14',
      cell: (user) => mayChange && <EndUserActions user={user} everyone={everyone} onChanged={onChanged} />,
    },
  ]
}

function Name({ user }: { user: EndUser }) {
  const { id, label, limits } = user
  return (
    <span className="block max-w-64 min-w-0 py-1 leading-tight max-sm:max-w-none max-sm:pr-10">
      <span className="flex min-w-0 items-center gap-2">
        <bdi className={classes('truncate font-medium', label === null && 'font-mono text-sm')} title={label ?? id}>
          {label ?? id}
        </bdi>
        {hasLimits(limits.values) && <Badge>Own limits</Badge>}
      </span>
      <span
        className={classes('block truncate text-xs font-normal text-muted', label !== null && 'font-mono')}
        title={id}
      >
        {label === null ? 'No label' : id}
      </span>
    </span>
  )
}

function Tightest({ user: { limits } }: { user: EndUser }) {
  const budget = tightestOf(limits.budgets)
  if (!budget) return <Nothing label="no budget" />
  return (
    <div className="py-1.5 text-left max-sm:w-56">
      <BudgetBar budget={budget} />
    </div>
  )
}
