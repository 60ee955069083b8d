import { formatMoneyExactly } from '../../formats.ts'

/** `$3.375`: a price is never rounded, because people multiply with it. */
export function UnitPrice({ nanos }: { nanos: string }) {
  const exact = formatMoneyExactly(nanos)
  return <span className="tabular">{exact.replace(/(\.\d\d\d*?)0+$/, '$1')}</span>
}
