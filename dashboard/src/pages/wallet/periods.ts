import { DAY_MS } from '../../durations.ts'

/** How far back the ledger goes: so many days in UTC, of which today is one. */
export const PERIODS = [
  { value: '7', label: 'Last 7 days' },
  { value: '30', label: 'Last 30 days' },
  { value: '90', label: 'Last 90 days' },
  { value: '365', label: 'Last 12 months' },
]

/** Whole days, so that the same choice is the same request. */
export function fromOf(days: string | undefined, nowMs: number): { from?: string } {
  if (!PERIODS.some(({ value }) => value === days)) return {}
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS
  return { from: new Date(today - (Number(days) - 1) * DAY_MS).toISOString() }
}
