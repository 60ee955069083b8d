import { formatCountExactly, formatMoney } from '../../formats.ts'
import { BUDGET_LABELS, RATE_LABELS, type LimitValues } from './limit-lines.ts'

/** Limits that hold for each of many, so that nothing is used of them as such. */
export function ValueList({ values }: { values: LimitValues }) {
  const money = (nanos: string | null) => (nanos === null ? null : formatMoney(nanos))
  const number = (count: number | string | null) => (count === null ? null : formatCountExactly(count))
  const lines: [string, string | null][] = [
    [BUDGET_LABELS.day, money(values.dayNanos)],
    [BUDGET_LABELS.week, money(values.weekNanos)],
    [BUDGET_LABELS.month, money(values.monthNanos)],
    [BUDGET_LABELS.total, money(values.totalNanos)],
    [RATE_LABELS.requests, number(values.requestsPerMinute)],
    [RATE_LABELS.tokens, number(values.tokensPerMinute)],
    [RATE_LABELS.calls, number(values.concurrentCalls)],
  ]
  return (
    <dl className="flex flex-col gap-2 text-sm">
      {lines.map(
        ([label, value]) =>
          value !== null && (
            <div key={label} className="flex items-baseline justify-between gap-3">
              <dt className="font-medium">{label}</dt>
              <dd className="tabular text-muted">{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}
