/**
 * How many attempts may be repeated at the same deployment: a tenth of the calls, and a few per second so that quiet
 * times have some too. When everything fails, repeats for everybody would double the load that made it fail.
 *
 * Counted in thousandths, so that ten calls make exactly one repeat.
 */
export interface RetryBudget {
  thousandths: number
  atMs: number
}

const REPEAT = 1_000
const PER_CALL = 100
/** Three repeats per second. */
const PER_MS = 3
const SAVED_MAX = 100 * REPEAT

export function newRetryBudget(nowMs: number): RetryBudget {
  return { thousandths: 3 * REPEAT, atMs: nowMs }
}

export function withCall(budget: RetryBudget): RetryBudget {
  return { ...budget, thousandths: budget.thousandths + PER_CALL }
}

/** Undefined: it is spent. */
export function withRepeat({ thousandths, atMs }: RetryBudget, nowMs: number): RetryBudget | undefined {
  const saved = Math.min(thousandths + Math.max(0, nowMs - atMs) * PER_MS, SAVED_MAX)
  return saved >= REPEAT ? { thousandths: saved - REPEAT, atMs: nowMs } : undefined
}
