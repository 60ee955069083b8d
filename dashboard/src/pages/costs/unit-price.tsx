import { exactDecimalsOf, formatMoneyFixed } from '../../formats.ts'

/** `$3.375`: a price is never rounded, because people multiply with it. In a column all have the same decimals. */
export function UnitPrice({ nanos, decimals }: { nanos: string; decimals?: number }) {
  return <span className="tabular">{formatMoneyFixed(nanos, decimals ?? exactDecimalsOf([nanos]))}</span>
}
