import type { Reading } from './chart-reading.ts'
import { Swatch } from './swatch.tsx'

export function ChartTip({ reading: { moment, parts, total } }: { reading: Reading }) {
  return (
    <div className="min-w-40 rounded-md bg-raised px-3 py-2 text-xs shadow-float">
      <p className="mb-1 font-medium text-ink">{moment}</p>
      {parts.toReversed().map(({ id, label, colour, value }) => (
        <p key={id} className="flex items-center gap-1.5 text-muted">
          <Swatch colour={colour} />
          <span className="max-w-40 truncate">{label}</span>
          <span className="tabular ml-auto pl-4 text-ink">{value}</span>
        </p>
      ))}
      {parts.length === 0 && <p className="text-muted">No calls</p>}
      {total !== undefined && (
        <p className="mt-1 flex border-t border-line pt-1 text-ink">
          Total<span className="tabular ml-auto pl-4">{total}</span>
        </p>
      )}
    </div>
  )
}
