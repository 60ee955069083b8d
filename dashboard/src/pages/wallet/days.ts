import { DAY_MS } from '../../durations.ts'

const DAY = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', year: 'numeric', month: 'short', day: 'numeric' })

/** Usage is summed by days in UTC, so a day is that one wherever its reader is. */
export function dayOf(iso: string): string {
  return `${DAY.format(new Date(iso))} (UTC)`
}

/** From its beginning to that of the next: what the list of calls takes to show the calls of one day. */
export function spanOfDay(iso: string): { from: string; to: string } {
  return { from: iso, to: new Date(Date.parse(iso) + DAY_MS).toISOString() }
}
