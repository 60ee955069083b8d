import { breakdownOf } from '../../rules/billing/costs.ts'
import { TOKEN_CLASSES } from '../../rules/billing/usage.ts'
import type { Span } from '../../rules/billing/usage-spans.ts'
import { csvOf } from '../../rules/csv.ts'
import { formatAmount } from '../../rules/money.ts'
import {
  listGroupNames,
  sumUsageByTimeAndGroup,
  type BilledAtPrice,
  type UsageGroup,
} from '../../store/billing/usage.ts'
import type { Db } from '../../store/database.ts'
import { sumsOf } from './usage-replies.ts'

const USAGE_HEADER = [
  'starts at (UTC)',
  'group',
  'name',
  'calls',
  'failed',
  'input tokens',
  'cached input tokens',
].concat(['cache write tokens', 'output tokens', 'reasoning tokens', 'charged (USD)'])

/** The rows of the chart, one for each hour or day and group: what the page's table shows. */
export async function usageCsv(db: Db, projectIds: string[], span: Span, by: UsageGroup): Promise<string> {
  const names = await listGroupNames(db, by, projectIds)
  const points = await sumUsageByTimeAndGroup(db, { projectIds, ...span }, by)
  const rows = points.map((point) => {
    const { calls, failed, tokens, chargedNanos } = sumsOf(point)
    const counts = [calls, failed, ...TOKEN_CLASSES.map((name) => tokens[name])].map(String)
    return [point.at.toISOString(), point.group, labelOf(point.group, by, names)].concat(
      counts,
      formatAmount(chargedNanos),
    )
  })
  return csvOf(USAGE_HEADER, rows)
}

export function labelOf(group: string, by: UsageGroup, names: Map<string, string>): string {
  return by === 'model' ? group : (names.get(group) ?? 'Deleted')
}

const COSTS_HEADER = ['model', 'price version', 'effective from (UTC)', 'calls', 'class', 'tokens'].concat([
  'price per million (USD)',
  'cost (USD, rounded down to a nano)',
])

/** One row for each price version and class, and two that say what makes their sum the charge. */
export function costsCsv(billed: readonly BilledAtPrice[]): string {
  const rows = billed.flatMap((part) => {
    const { classes, rounding, notCharged } = breakdownOf([part])
    const head = [part.modelId, String(part.version), part.effectiveFrom.toISOString(), String(part.calls)]
    return [
      ...TOKEN_CLASSES.map((name) =>
        head.concat([
          name,
          String(classes[name].tokens),
          formatAmount(part.price[name]),
          formatAmount(classes[name].nanos),
        ]),
      ),
      [...head, 'rounding up, per call', '', '', formatAmount(rounding)],
      [...head, 'not charged', '', '', notCharged === 0n ? '0.00' : formatAmount(-notCharged)],
    ]
  })
  return csvOf(COSTS_HEADER, rows)
}
