const DAY = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', year: 'numeric', month: 'short', day: 'numeric' })

/** Usage is summed by days in UTC, so a day is that one wherever its reader is. */
export function dayOf(iso: string): string {
  return `${DAY.format(new Date(iso))} (UTC)`
}
