import { DAY_MS, HOUR_MS, MINUTE_MS } from '../durations.ts'

/** How often a feed is fetched from its address, and when again after it failed. */
export const FEED_INTERVALS = ['hourly', '6h', 'daily'] as const
export type FeedInterval = (typeof FEED_INTERVALS)[number]

const INTERVAL_MS: Record<FeedInterval, number> = { hourly: HOUR_MS, '6h': 6 * HOUR_MS, daily: DAY_MS }
const FIRST_RETRY_MS = 5 * MINUTE_MS
const RETRY_MS_MAX = DAY_MS
const URL_CHARS_MAX = 2_000

/** Twice as long after every failure in a row, up to a day: a server that is gone is not asked every hour for ever. */
export function fetchWaitMs(interval: FeedInterval, failures: number): number {
  if (failures === 0) return INTERVAL_MS[interval]
  return Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20), RETRY_MS_MAX)
}

/**
 * The address that a feed is fetched from, or why it cannot be. Whether it is a machine of ours is looked at each time that it is
 * fetched: names lead elsewhere tomorrow.
 */
export function feedUrlOf(text: string): { url: string } | { problem: string } {
  // Before it is parsed: reading a long name takes time quadratic in its length.
  if (text.length > URL_CHARS_MAX) return { problem: `It has more than ${URL_CHARS_MAX} characters.` }
  const url = URL.parse(text.trim())
  if (url?.protocol !== 'https:') return { problem: 'It must be an https address.' }
  if (url.username !== '' || url.password !== '') return { problem: 'It must not contain a user name or a password.' }
  url.hash = ''
  return url.href.length > URL_CHARS_MAX
    ? { problem: `It has more than ${URL_CHARS_MAX} characters.` }
    : { url: url.href }
}
