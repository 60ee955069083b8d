import { formatCount, formatCountExactly } from '../../formats.ts'

/** A number of calls, with the exact one on hover. */
export function Count({ of }: { of: number }) {
  return (
    <data
      value={of}
      title={`${formatCountExactly(of)} ${of === 1 ? 'call' : 'calls'}`}
      className="tabular whitespace-nowrap"
    >
      {formatCount(of)}
    </data>
  )
}
