import type { Column } from '../../components/data-table.tsx'
import { Money, Nothing } from '../../components/figures.tsx'
import { formatCount, formatDate } from '../../formats.ts'
import { KEYS, type ReportKey, type ReportRow } from './report.ts'

export function reportColumns(by: ReportKey): Column<ReportRow>[] {
  return [
    { label: KEYS[by].column, isTitle: true, cell: (row) => <Name row={row} by={by} /> },
    { label: 'Recommended', align: 'right', width: 'w-32', cell: ({ serves }) => <Told count={serves} isFew /> },
    { label: 'Paid clicks', align: 'right', width: 'w-28', cell: ({ validClicks }) => <Told count={validClicks} /> },
    {
      label: 'Per click',
      align: 'right',
      width: 'w-24',
      amountOf: ({ averageNanos }) => averageNanos,
      cell: ({ averageNanos: nanos }, decimals) =>
        nanos === null ? <Nothing /> : <Money nanos={nanos} decimals={decimals} />,
    },
    {
      label: 'Spent',
      align: 'right',
      width: 'w-28',
      amountOf: ({ spentNanos }) => spentNanos,
      cell: ({ spentNanos }, decimals) => <Money nanos={spentNanos} decimals={decimals} />,
    },
    { label: 'Conversions', align: 'right', width: 'w-28', cell: ({ conversions }) => <Told count={conversions} /> },
    { label: 'Not paid for', width: 'w-48', cell: ({ otherClicks }) => <Others clicks={otherClicks} /> },
  ]
}

function Name({ row: { key, name }, by }: { row: ReportRow; by: ReportKey }) {
  if (key === null) return <span className="text-muted">All others</span>
  return <span className="block break-words">{by === 'day' ? formatDate(`${key}T00:00:00Z`, 'UTC') : name}</span>
}

/** The figures of fewer than ten recommendations are withheld. */
function Told({ count, isFew = false }: { count: string | null; isFew?: boolean }) {
  if (count !== null) return <span className="tabular">{formatCount(count)}</span>
  return isFew ? <span className="text-muted">fewer than 10</span> : <Nothing label="not told" />
}

function Others({ clicks }: { clicks: ReportRow['otherClicks'] }) {
  if (clicks === null || clicks.length === 0) return <Nothing label={clicks === null ? 'not told' : 'none'} />
  return (
    <span className="block text-sm leading-snug text-muted">
      {clicks.map(({ label, clicks: times }) => `${label} ${formatCount(times)}`).join(', ')}
    </span>
  )
}
