import { DAY_MS } from '../durations.ts'

/** How long an earned share is pending before it pays for calls: late invalid clicks are taken back until then. */
export const EARNINGS_PENDING_DAYS = 7

/** In the order in which a click can have them. Only a valid one is anything but unpaid. */
export const CLICK_STATES = ['unpaid', 'pending', 'released', 'reversed'] as const
export type ClickState = (typeof CLICK_STATES)[number]

/** From when on what a click at this time earned can go to the wallet: a worker moves it within the hour. */
export function releaseTimeOf(clickedAt: Date): Date {
  return new Date(clickedAt.getTime() + EARNINGS_PENDING_DAYS * DAY_MS)
}

/**
 * Returns the ledger's name for the share of a click. Null: the ledger has none, as the click was not paid for or the share
 * is nothing.
 */
export function ledgerReferenceOf({ id, shareNanos }: { id: string; shareNanos: bigint }): string | null {
  return shareNanos > 0n ? `click:${id}` : null
}
