/** Names of what the prepared replies are about. Every value in them differs from every other, so that no two can be swapped unseen. */

export const NOW = new Date('2026-11-14T09:41:07.250Z')

export function id(n: number): string {
  return `0197a000-0000-7000-8000-${String(n).padStart(12, '0')}`
}

/** So long before now: `ago({ days: 2, hours: 1 })`. */
export function ago({ days = 0, hours = 0, minutes = 0, seconds = 0 }: Partial<Record<Unit, number>>): Date {
  return new Date(NOW.getTime() - (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000)
}

type Unit = 'days' | 'hours' | 'minutes' | 'seconds'

export const PROJECT = id(11)
export const OTHER_PROJECT = id(12)
export const POOR_PROJECT = id(13)
export const PUBLISHER = id(21)
export const OTHER_PUBLISHER = id(22)
export const ADVERTISER_OF_MINE = id(31)
export const CAMPAIGN = id(32)
export const FEED = id(34)
export const UPLOAD = id(35)
export const CALL = 'chatcmpl-completed'
export const CONVERSATION = 'reader-42.evening'
