import { DAY_MS, HOUR_MS } from '../durations.ts'
import { KEPT_MS } from '../retention.ts'

/** Spans of time for usage: full hours or full days in UTC, and never so many that a reply would be huge. */

export interface Span {
  from: Date
  to: Date
  every: 'hour' | 'day'
}

export const DAYS_MAX = 400
export const HOURS_MAX = 14 * 24
/** By hour, nothing older is shown; it is kept for HOURS_MAX longer, to compare with. */
const HOURS_SHOWN_MS = KEPT_MS.usageHours - (HOURS_MAX + 24) * HOUR_MS
const DEFAULT_DAYS = 30

export interface AskedSpan {
  from?: string | undefined
  to?: string | undefined
  every?: 'hour' | 'day' | undefined
}

/**
 * Returns the span that was asked for, widened to full hours or days. `to` as a date includes that day. Returns a sentence
 * when the span makes no sense.
 */
export function spanOf(asked: AskedSpan, now: Date): Span | string {
  const toMs = asked.to === undefined ? now.getTime() + 1 : endOf(asked.to)
  const fromMs =
    asked.from === undefined ? Math.ceil(toMs / DAY_MS) * DAY_MS - DEFAULT_DAYS * DAY_MS : Date.parse(asked.from)
  const firstHourMs = now.getTime() - HOURS_SHOWN_MS
  const every = asked.every ?? (toMs - fromMs <= 3 * DAY_MS && fromMs >= firstHourMs ? 'hour' : 'day')
  const unitMs = every === 'hour' ? HOUR_MS : DAY_MS
  const from = Math.floor(fromMs / unitMs) * unitMs
  const to = Math.ceil(toMs / unitMs) * unitMs
  if (from >= to) return 'The beginning must be before the end.'
  if (to - from > DAYS_MAX * DAY_MS) return `At most ${DAYS_MAX} days at once.`
  if (every === 'hour' && to - from > HOURS_MAX * HOUR_MS) return `By hour, at most ${HOURS_MAX / 24} days at once.`
  if (every === 'hour' && fromMs < firstHourMs) return `By hour, at most the last ${HOURS_SHOWN_MS / DAY_MS} days.`
  return { from: new Date(from), to: new Date(to), every }
}

/** The span of the same length right before it. */
export function spanBefore({ from, to, every }: Span): Span {
  return { from: new Date(2 * from.getTime() - to.getTime()), to: from, every }
}

/** Every hour or day of the span: charts have no holes where nobody called. */
export function momentsOf({ from, to, every }: Span): Date[] {
  const unitMs = every === 'hour' ? HOUR_MS : DAY_MS
  const count = (to.getTime() - from.getTime()) / unitMs
  return Array.from({ length: count }, (_, n) => new Date(from.getTime() + n * unitMs))
}

function endOf(text: string): number {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) + DAY_MS : Date.parse(text)
}
