import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Money } from '../../components/figures.tsx'
import { FigureLink } from '../../components/link.tsx'
import { formatShare } from '../../formats.ts'
import { useProject } from '../../session.ts'
import { useBlocking, type Blocking } from '../monetization/use-blocking.ts'
import { Count } from '../usage/count.tsx'
import { clicksAt } from './clicks-address.ts'
import type { Earnings } from './earnings.ts'
import { useCategoryBlocking, type CategoryBlocking } from './use-category-blocking.ts'

type Advertiser = Earnings['advertisers'][number]
type Category = Earnings['categories'][number]

/** The advertisers that earned most for the project, each with a button to block it. */
export function TopAdvertisers({ earnings }: { earnings: Earnings }) {
  const project = useProject()
  const blocking = useBlocking()
  const span = { from: earnings.from, to: earnings.to }
  return (
    <DataTable
      label="Top advertisers"
      columns={advertiserColumns(project.id, span, project.may('admin') ? blocking : undefined)}
      rows={earnings.advertisers}
      keyOf={({ id }) => id}
      empty={null}
    />
  )
}

export function TopCategories({ earnings }: { earnings: Earnings }) {
  const project = useProject()
  const blocking = useCategoryBlocking()
  return (
    <DataTable
      label="Top categories"
      columns={categoryColumns(project.may('admin'), blocking)}
      rows={earnings.categories}
      keyOf={({ category }) => category}
      empty={null}
    />
  )
}

/** Without somebody who may block, there is no column for it. */
function advertiserColumns(
  projectId: string,
  span: { from: string; to: string },
  blocking: Blocking | undefined,
): Column<Advertiser>[] {
  return [
    { label: 'Advertiser', isTitle: true, cell: (row) => <Named name={row.name} isBlocked={row.isBlocked} /> },
    shown(),
    {
      label: 'Paid clicks',
      align: 'right',
      width: 'w-28',
      cell: (row) => (
        <FigureLink
          {...clicksAt(projectId, { advertiser: row.id, verdict: 'valid', ...span })}
          of={`paid clicks: ${row.name}`}
        >
          <Count of={row.clicks} />
        </FigureLink>
      ),
    },
    rate(),
    earned(),
    ...(blocking
      ? [
          {
            label: 'Block',
            isActions: true,
            width: 'w-28',
            cell: (row: Advertiser) => (
              <BlockButton
                name={row.name}
                isBlocked={row.isBlocked}
                isBusy={blocking.busyWith === row.id}
                onSet={(isBlocked) => blocking.set(row, isBlocked)}
              />
            ),
          },
        ]
      : []),
  ]
}

function categoryColumns(mayBlock: boolean, blocking: CategoryBlocking | undefined): Column<Category>[] {
  return [
    {
      label: 'Category',
      isTitle: true,
      cell: (row) => <Named name={row.category || 'Without a category'} isBlocked={row.isBlocked} />,
    },
    shown(),
    { label: 'Paid clicks', align: 'right', width: 'w-28', cell: (row) => <Count of={row.clicks} /> },
    rate(),
    earned(),
    ...(mayBlock
      ? [
          {
            label: 'Block',
            isActions: true,
            width: 'w-28',
            cell: (row: Category) => <BlockCategory row={row} blocking={blocking} />,
          },
        ]
      : []),
  ]
}

function BlockCategory({ row, blocking }: { row: Category; blocking: CategoryBlocking | undefined }) {
  if (row.category === '') return <span data-nothing />
  return (
    <BlockButton
      name={row.category}
      isBlocked={row.isBlocked}
      isBusy={blocking?.isBusy ?? false}
      onSet={(isBlocked) => blocking?.set(row.category, isBlocked)}
    />
  )
}

interface Sums {
  shown: number
  clicks: number
  earnedNanos: string
}

function shown<T extends Sums>(): Column<T> {
  return { label: 'Shown', align: 'right', width: 'w-24', cell: (row) => <Count of={row.shown} /> }
}

function rate<T extends Sums>(): Column<T> {
  return {
    label: 'Rate',
    align: 'right',
    width: 'w-24',
    cell: (row) =>
      row.shown === 0 ? <span data-nothing /> : <span className="tabular">{formatShare(row.clicks / row.shown)}</span>,
  }
}

function earned<T extends Sums>(): Column<T> {
  return {
    label: 'Earned',
    align: 'right',
    width: 'w-28',
    amountOf: ({ earnedNanos }) => earnedNanos,
    cell: ({ earnedNanos }, decimals) => <Money nanos={earnedNanos} decimals={decimals} className="text-earn" />,
  }
}

function Named({ name, isBlocked }: { name: string; isBlocked: boolean }) {
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-x-2">
      <span className="min-w-0 [overflow-wrap:anywhere]">{name}</span>
      {isBlocked && <Badge tone="bad">Blocked</Badge>}
    </span>
  )
}

interface BlockButtonProps {
  name: string
  isBlocked: boolean
  isBusy: boolean
  onSet(isBlocked: boolean): void
}

function BlockButton({ name, isBlocked, isBusy, onSet }: BlockButtonProps) {
  const verb = isBlocked ? 'Unblock' : 'Block'
  return (
    <Button
      size="sm"
      look={isBlocked ? 'secondary' : 'ghost'}
      isBusy={isBusy}
      aria-label={`${verb} ${name}`}
      onClick={() => onSet(!isBlocked)}
    >
      {verb}
    </Button>
  )
}
