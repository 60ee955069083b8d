import { CircleCheck } from 'lucide-react'
import { DataTable, type Column } from '../../components/data-table.tsx'
import { Nothing } from '../../components/figures.tsx'
import { EmptyState } from '../../components/states.tsx'
import { formatCountExactly } from '../../formats.ts'
import type { Rejection } from './feed.ts'

/** Rows of a file that were refused, and why. `total`: how many there are, of which the first are listed. */
export function RejectionTable({ rejections, total }: { rejections: Rejection[]; total: number }) {
  const isCut = total > rejections.length
  return (
    <DataTable
      label="Refused rows"
      columns={COLUMNS}
      rows={rejections}
      keyOf={({ row }) => String(row)}
      {...(isCut && { note: `The first ${rejections.length} of ${formatCountExactly(total)} refused rows.` })}
      empty={
        <EmptyState icon={CircleCheck} title="No row was refused">
          Every product of the file can be used.
        </EmptyState>
      }
    />
  )
}

const COLUMNS: Column<Rejection>[] = [
  {
    label: 'Row',
    width: 'w-20',
    compact: 2,
    cell: ({ row }) => (
      <span className="tabular">
        <span className="sm:hidden">Row </span>
        {formatCountExactly(row)}
      </span>
    ),
  },
  {
    label: 'Item',
    width: 'w-48',
    compact: 3,
    cell: ({ item }) =>
      item === null ? <Nothing /> : <code className="block truncate font-mono text-sm">{item}</code>,
  },
  {
    label: 'Why it was refused',
    compact: 1,
    cell: ({ reason }) => <span className="block [overflow-wrap:anywhere] whitespace-normal">{reason}</span>,
  },
]
