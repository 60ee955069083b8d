import type { Item, Reply } from '../../api.ts'

export type Limits = Reply<'GET /api/projects/:project/limits'>
export type Rate = Limits['operator']['rates'][number]
export type Limited = Item<'GET /api/projects/:project/end-users'>['limits']
export type Budget = Limited['budgets'][number]
export type LimitValues = Limited['values']

export const BUDGET_LABELS: Record<Budget['period'], string> = {
  day: 'Daily budget',
  week: 'Weekly budget',
  month: 'Monthly budget',
  total: 'Total budget',
}

export const RATE_LABELS: Record<Rate['name'], string> = {
  requests: 'Requests per minute',
  tokens: 'Tokens per minute',
  calls: 'Concurrent calls',
}

/** How much of a bar is filled, from 0 to 1. Of nothing, everything is used. */
export function shareOf(used: bigint, limit: bigint): number {
  if (limit === 0n) return 1
  return Math.min(Number((used * 1_000n) / limit) / 1_000, 1)
}

/** Money held by running calls counts as spent until they have ended. */
export function shareOfBudget({ limitNanos, leftNanos }: Budget): number {
  const limit = BigInt(limitNanos)
  return shareOf(limit - BigInt(leftNanos), limit)
}

/** Returns the budget with the least left: it refuses first. */
export function tightestOf(budgets: readonly Budget[]): Budget | undefined {
  return budgets.toSorted((a, b) => Number(BigInt(a.leftNanos) - BigInt(b.leftNanos)))[0]
}

export function hasLimits(values: LimitValues): boolean {
  return Object.values(values).some((value) => value !== null)
}
