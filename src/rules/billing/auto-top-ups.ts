import { HOUR_MS, MINUTE_MS } from '../durations.ts'
import { formatCredits, type Nanos } from '../money.ts'
import { centsOf, TOP_UP_MAX, TOP_UP_MIN } from './payments.ts'

/** When a saved card is charged, how much in a month, and what becomes of a card that is declined. */

export interface AutoTopUp {
  /** Below this balance the amount is charged. */
  threshold: Nanos
  amount: Nanos
  /** The most that is charged in a calendar month of UTC, without tax. */
  monthMax: Nanos
}

/** A slip of the finger costs no more than this in a month. */
export const MONTH_MAX: Nanos = 10n * TOP_UP_MAX

/** Returns the first problem with the settings, and the field that it is about. */
export function problemOf({
  threshold,
  amount,
  monthMax,
}: AutoTopUp): { field: keyof AutoTopUp; message: string } | undefined {
  if (threshold === 0n || threshold > TOP_UP_MAX)
    return { field: 'threshold', message: `More than zero, and at most ${formatCredits(TOP_UP_MAX)}.` }
  if (amount < TOP_UP_MIN || amount > TOP_UP_MAX || centsOf(amount) === undefined) {
    const range = `from ${formatCredits(TOP_UP_MIN)} to ${formatCredits(TOP_UP_MAX)}`
    return { field: 'amount', message: `Whole cents, ${range}.` }
  }
  if (monthMax < amount) return { field: 'monthMax', message: `At least one top-up: ${formatCredits(amount)}.` }
  if (monthMax > MONTH_MAX) return { field: 'monthMax', message: `At most ${formatCredits(MONTH_MAX)}.` }
  return undefined
}

/** `charged`: what this month has had so far, with what is being charged now. */
export function fitsInMonth({ amount, monthMax }: Pick<AutoTopUp, 'amount' | 'monthMax'>, charged: Nanos): boolean {
  return charged + amount <= monthMax
}

/** Never below nothing: the most may have been lowered since. */
export function leftOfMonth(monthMax: Nanos, charged: Nanos): Nanos {
  return charged < monthMax ? monthMax - charged : 0n
}

/** After the first decline and after the second: a card that was over its limit has time, and a bank is not pestered. */
const WAITS_MS = [HOUR_MS, 12 * HOUR_MS]

export interface Standing {
  declines: number
  nextTryAt: Date | null
  pausedAt: Date | null
}

export const NO_DECLINES: Standing = { declines: 0, nextTryAt: null, pausedAt: null }

/** So often in 24 hours somebody may bring the next try forward: a bank that is asked on and on blocks the card, or us. */
export const FRESH_STARTS_MAX = 5

export interface SettingsChange {
  /** Undefined: it was off. */
  before: (AutoTopUp & Standing) | undefined
  chosen: AutoTopUp
  /** The last try, with the card that would be charged next. */
  wasDeclined: boolean
  /** In the last 24 hours. */
  freshStarts: number
}

/** How things stand after somebody has saved the settings. Undefined: they wish for a try, and have had as many as they may. */
export function afterChange(change: SettingsChange): { standing: Standing; isFreshStart: boolean } | undefined {
  const { before, chosen, wasDeclined, freshStarts } = change
  if (!wasDeclined) return { standing: NO_DECLINES, isFreshStart: false }
  const isChanged = !before || !isSame(before, chosen)
  if (before && !isChanged && before.pausedAt === null) return { standing: before, isFreshStart: false }
  if (freshStarts < FRESH_STARTS_MAX)
    return { standing: isChanged ? NO_DECLINES : { ...before, pausedAt: null }, isFreshStart: true }
  return before && isChanged ? { standing: before, isFreshStart: false } : undefined
}

function isSame(one: AutoTopUp, other: AutoTopUp): boolean {
  return one.threshold === other.threshold && one.amount === other.amount && one.monthMax === other.monthMax
}

/** How things stand after one more decline in a row. After the third, nothing is charged until an admin wishes it. */
export function afterDecline(declinesBefore: number, now: Date): Standing {
  const declines = declinesBefore + 1
  const waitMs = WAITS_MS[declinesBefore]
  if (waitMs === undefined) return { declines, nextTryAt: null, pausedAt: now }
  return { declines, nextTryAt: new Date(now.getTime() + waitMs), pausedAt: null }
}

export function isResting({ nextTryAt, pausedAt }: Standing, now: Date): boolean {
  return pausedAt !== null || (nextTryAt !== null && nextTryAt > now)
}

/**
 * So long the provider knows what it was asked before, under the same key. Later, asking again might charge again: from then
 * on it is only asked what became of it. Stripe keeps keys for 24 hours at least.
 */
export const SAME_KEY_MS = 20 * HOUR_MS

/** So long a request to the provider may be on its way, with all its tries: several times what those take. */
export const ON_ITS_WAY_MS = 5 * MINUTE_MS

const WANTS_CONFIRMATION = 'Your bank wants you to confirm the payment. Top up by hand.'
const DECLINED = 'The bank declined the card.'

/** The banks' reasons that help the payer. Any other, such as a card that is reported stolen, is a decline and no more. */
const REASONS: Record<string, string> = {
  authentication_required: WANTS_CONFIRMATION,
  card_velocity_exceeded: 'The card is over its limit.',
  customer_tax_location_invalid:
    'The tax cannot be calculated, because the card has no billing address. Save it again with your next top-up.',
  expired_card: 'The card has expired.',
  insufficient_funds: 'The card has insufficient funds.',
  processing_error: 'The card could not be charged because the connection to the bank failed.',
  requires_action: WANTS_CONFIRMATION,
  resource_missing: 'Stripe no longer knows the card. Save it again with your next top-up.',
  withdrawal_count_limit_exceeded: 'The card is over its limit.',
}

/** In words for the payer, by the codes that the provider gives: the narrower one first. */
export function declineInWords(...codes: (string | null | undefined)[]): string {
  for (const code of codes) if (code != null && Object.hasOwn(REASONS, code)) return REASONS[code] ?? DECLINED
  return DECLINED
}
