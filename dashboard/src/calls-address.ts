/** Where figures lead: the list of calls, with the filters that leave exactly those that a figure was made of. */
import type { Call } from './api.ts'
import type { Target } from './components/link.tsx'
import { DAY_MS, HOUR_MS } from './durations.ts'

export type CallFilters = Omit<NonNullable<Call<'GET /api/projects/:project/calls'>['query']>, 'after' | 'limit' | 'id'>

/** The least that can be charged, a billionth of a dollar: leaves all calls that were charged at all. */
export const LEAST_COST = '0.000000001'

export function callsAt(
  projectId: string,
  filters: { [Name in keyof CallFilters]?: CallFilters[Name] | undefined },
): Target {
  const given = Object.entries(filters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { to: `/projects/${projectId}/calls`, search: Object.fromEntries(given) }
}

/** The hour or day of a chart that begins at this moment. */
export function momentSpan(at: string, every: 'hour' | 'day'): { from: string; to: string } {
  return { from: at, to: new Date(Date.parse(at) + (every === 'hour' ? HOUR_MS : DAY_MS)).toISOString() }
}

/** This many days in UTC, of which today is the last. */
export function lastDays(days: number, nowMs: number): { from: string } {
  return { from: new Date((Math.floor(nowMs / DAY_MS) - days + 1) * DAY_MS).toISOString() }
}

/** This many full days in UTC, of which yesterday is the last. */
export function fullDays(days: number, nowMs: number): { from: string; to: string } {
  const endMs = Math.floor(nowMs / DAY_MS) * DAY_MS
  return { from: new Date(endMs - days * DAY_MS).toISOString(), to: new Date(endMs).toISOString() }
}
