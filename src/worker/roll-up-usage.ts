import { DAY_MS, MINUTE_MS, SECOND_MS } from '../rules/durations.ts'
import type { Db } from '../store/database.ts'
import { findSettledBoundary, rollUpStep } from '../store/billing/usage-roll-up.ts'
import type { Job } from './job.ts'

/** Charts and lists of the console are behind by so much. */
const ROLL_UP_EVERY_MS = 10 * SECOND_MS
/** Clocks that are set back a little must not hide a settled call. */
const MARGIN_MS = 3 * SECOND_MS
const STEP_MIN_MS = SECOND_MS
const STEP_MAX_MS = DAY_MS
const FIRST_STEP_MS = MINUTE_MS
/** Well below the store's statement timeout; steps grow and shrink towards it. */
const STATEMENT_MS = 800
const QUERY_CANCELED = '57014'

export interface RollUpOptions {
  db: Db
  signal: AbortSignal
  marginMs?: number
}

export function rollUpUsageJob(options: RollUpOptions): Job {
  return { name: 'roll up usage', everyMs: ROLL_UP_EVERY_MS, run: () => rollUpUsage(options) }
}

/**
 * Brings the usage roll-ups up to now. Usually that is one short statement; after a stop, or on a ledger that has never
 * been rolled up, many, each as long as the store takes well. Two workers do not disturb each other: one steps aside.
 */
export async function rollUpUsage({ db, signal, marginMs = MARGIN_MS }: RollUpOptions): Promise<void> {
  const boundary = await findSettledBoundary(db, marginMs)
  await inSteps((stepMs) => rollUpStep(db, boundary, stepMs), boundary, signal)
}

/** Takes steps up to the boundary, each as long as the store takes well. A step that returns nothing is another worker's. */
export async function inSteps(
  step: (stepMs: number) => Promise<Date | undefined>,
  boundary: Date,
  signal: AbortSignal,
): Promise<void> {
  let stepMs = FIRST_STEP_MS
  while (!signal.aborted) {
    const startedMs = performance.now()
    try {
      const through = await step(stepMs)
      if (through === undefined || through >= boundary) return
      stepMs = nextStepMs(stepMs, performance.now() - startedMs)
    } catch (error) {
      // A step that was too long was undone by the store, and is taken again in smaller ones.
      const isTooLong = (error as { code?: unknown }).code === QUERY_CANCELED
      if (!isTooLong || stepMs === STEP_MIN_MS) throw error
      stepMs = Math.max(stepMs / 8, STEP_MIN_MS)
    }
  }
}

function nextStepMs(stepMs: number, tookMs: number): number {
  if (tookMs < STATEMENT_MS / 4) return Math.min(stepMs * 2, STEP_MAX_MS)
  return tookMs > STATEMENT_MS ? Math.max(stepMs / 2, STEP_MIN_MS) : stepMs
}
