const LONG_DAYS = 365

/** How long credit lasts at the pace of the last seven full days, in the same words wherever it is said. Null: there is no pace. */
export function lastsInWords(days: number | null): string {
  if (days === null) return 'unknown'
  if (days > LONG_DAYS) return 'more than a year'
  if (days < 1) return 'less than a day'
  return `about ${Math.floor(days)} ${days < 2 ? 'day' : 'days'}`
}

/** Why it is unknown. */
export const NO_PACE = 'Nothing spent in 7 full days'
