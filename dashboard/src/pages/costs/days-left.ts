/** How long credit lasts: nobody plans with parts of days, except when there are few. */
export function daysInWords(days: number): string {
  if (days > 999) return 'over 999 days'
  return `${days < 10 ? days : Math.floor(days)} ${days === 1 ? 'day' : 'days'}`
}
