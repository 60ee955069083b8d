import { NANOS_PER_CREDIT, type Nanos } from '../money.ts'

/** The payment provider counts in cents of US dollars; the ledger in nanos of credits, of which one costs one dollar. */

export const PAYMENT_CURRENCY = 'usd'

const NANOS_PER_CENT = NANOS_PER_CREDIT / 100n
/** The amounts that Stripe accepts in one payment: from 50 cents, with up to eight digits. */
const CENTS_MIN = 50
const CENTS_MAX = 99_999_999

/** The amounts that the console accepts in one payment: less is eaten by fees, more is a slip of the finger or a stolen card. */
export const TOP_UP_MIN: Nanos = 5n * NANOS_PER_CREDIT
export const TOP_UP_MAX: Nanos = 10_000n * NANOS_PER_CREDIT

/** Undefined when nothing of that amount can be paid: it is not in whole cents, too little or too much. */
export function centsOf(amount: Nanos): number | undefined {
  const cents = Number(amount / NANOS_PER_CENT)
  return amount % NANOS_PER_CENT === 0n && cents >= CENTS_MIN && cents <= CENTS_MAX ? cents : undefined
}

export function nanosOfCents(cents: number): Nanos {
  return BigInt(cents) * NANOS_PER_CENT
}

/** Something that the payment provider has told of a payment, as far as it concerns the ledger. */
export type PaymentEvent =
  | PaidEvent
  | { type: 'expired'; sessionId: string }
  | ({ type: 'returned' } & PaymentReturn)
  /** A dispute that ended well: the money is the operator's again, or never went. */
  | ({ type: 'reinstated' } & PaymentReturn)

export interface PaidEvent {
  type: 'paid'
  /** The checkout, or the name of an automatic payment. */
  sessionId: string
  paymentIntent: string
  /** All that was paid, and what of it is tax. Undefined: what was calculated before the card was charged. */
  amount: Nanos
  tax: Nanos | undefined
  currency: string
}

/** The money that goes back to the payer under one id: from all refunds of a charge together, or from one dispute. */
export interface PaymentReturn {
  id: string
  paymentIntent: string
  kind: ReturnKind
  amount: Nanos
  currency: string
  /** Events come in any order. The one that was made last counts, and of one second the one of the latest stage. */
  toldAt: Date
  stage: ReturnStage
}

/** How far a dispute had come: an inquiry, its end, a dispute after all, and its end. A refund has no stages. */
export const RETURN_STAGES = { refund: 0, inquiry: 1, inquiryClosed: 2, dispute: 3, disputeClosed: 4 } as const
export type ReturnStage = (typeof RETURN_STAGES)[keyof typeof RETURN_STAGES]

/** Because the operator wished it, or because the payer's bank did. */
export type ReturnKind = 'refund' | 'chargeback'

/** How people see a payment: what is being charged and what failed are told apart from checkouts that nobody paid. */
export const TOP_UP_STATES = ['open', 'pending', 'paid', 'not_paid', 'failed', 'refunded'] as const

export function topUpStateOf(state: string, isAutomatic: boolean): (typeof TOP_UP_STATES)[number] {
  if (state === 'paid' || state === 'refunded') return state
  if (state === 'created') return isAutomatic ? 'pending' : 'open'
  return isAutomatic ? 'failed' : 'not_paid'
}

/** Why a payment that was reported must not be credited; undefined when it is what was asked for. */
export function mismatchOf(
  asked: { amount: Nanos; currency: string },
  paid: { amount: Nanos; currency: string },
): 'wrong_currency' | 'wrong_amount' | undefined {
  if (paid.currency !== asked.currency) return 'wrong_currency'
  return paid.amount === asked.amount ? undefined : 'wrong_amount'
}
