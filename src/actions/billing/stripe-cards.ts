import { Stripe } from 'stripe'
import { declineInWords } from '../../rules/billing/auto-top-ups.ts'
import { centsOf, nanosOfCents, PAYMENT_CURRENCY } from '../../rules/billing/payments.ts'
import type { Nanos } from '../../rules/money.ts'
import type { PendingTopUp } from '../../store/billing/top-ups/auto-top-ups.ts'
import type { Card } from '../../store/billing/top-ups/wallet-cards.ts'
import { clientOf, CREDIT_NAME, PAYMENT_KEY, sentenceOf, TAX_KEY, taxOf, type StripeAccount } from './stripe.ts'

/** Requests to Stripe about saved cards: to charge one without its owner present, to forget one, and for papers of a payment. */

export type ChargeAnswer =
  | { state: 'paid'; paymentIntent: string; amount: Nanos; tax: Nanos | undefined; currency: string }
  | { state: 'declined'; reason: string }
  /** Nobody knows yet whether it was charged. The same may be asked again. */
  | { state: 'unknown'; why: string }

/** The tax on a top-up, and under which name Stripe keeps how it was worked out. */
export interface CardTax {
  calculation: string
  amount: Nanos
}

/**
 * Returns the tax charged to the card on top, or the reason for charging nothing. The key makes Stripe answer a repeated
 * question alike.
 */
export async function calculateTax(
  account: StripeAccount,
  topUp: PendingTopUp,
): Promise<{ tax: CardTax } | { tax?: undefined; answer: ChargeAnswer }> {
  try {
    const calculation = await clientOf(account).tax.calculations.create(
      {
        currency: PAYMENT_CURRENCY,
        customer: topUp.customer,
        line_items: [{ amount: centsToPay(topUp), reference: CREDIT_NAME, tax_behavior: 'exclusive' }],
      },
      { idempotencyKey: `${topUp.id}-tax` },
    )
    const { id, tax_amount_exclusive: taxCents } = calculation
    if (id === null) return { answer: { state: 'unknown', why: 'Stripe gave an answer that makes no sense' } }
    return { tax: { calculation: id, amount: nanosOfCents(taxCents) } }
  } catch (error) {
    // The payer alone can mend that. All else, such as tax that is not set up, is the operator's.
    const isWithoutAddress = error instanceof Stripe.errors.StripeError && error.code === NO_TAX_LOCATION
    if (isWithoutAddress) return { answer: { state: 'declined', reason: declineInWords(NO_TAX_LOCATION) } }
    return { answer: { state: 'unknown', why: sentenceOf(error, 'to work out the tax') } }
  }
}

const NO_TAX_LOCATION = 'customer_tax_location_invalid'

/** Asked as often as needed, it charges once: the name of the payment is the key under which Stripe repeats its first answer. */
export async function chargeCard(
  account: StripeAccount,
  topUp: PendingTopUp,
  tax: CardTax | undefined,
): Promise<ChargeAnswer> {
  const taxCents = Number((tax?.amount ?? 0n) / nanosOfCents(1))
  try {
    const intent = await clientOf(account).paymentIntents.create(
      {
        amount: centsToPay(topUp) + taxCents,
        currency: PAYMENT_CURRENCY,
        customer: topUp.customer,
        payment_method: topUp.paymentMethod,
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        confirm: true,
        off_session: true,
        description: CREDIT_NAME,
        metadata: { parley_project: topUp.projectId, [PAYMENT_KEY]: topUp.id, [TAX_KEY]: String(taxCents) },
        ...(tax && { hooks: { inputs: { tax: { calculation: tax.calculation } } } }),
      },
      { idempotencyKey: topUp.id },
    )
    return answerOf(intent)
  } catch (error) {
    return refusalOf(error)
  }
}

const INTENTS_READ_MAX = 1_000

/** For a payment that was asked for so long ago that asking again might charge again. Undefined: it never was. */
export async function findCharge(account: StripeAccount, topUp: PendingTopUp): Promise<ChargeAnswer | undefined> {
  const created = { gte: Math.floor(topUp.createdAt.getTime() / 1_000) - CLOCKS_DIFFER_SECONDS }
  try {
    const intents = clientOf(account).paymentIntents.list({ customer: topUp.customer, created, limit: 100 })
    const all = await intents.autoPagingToArray({ limit: INTENTS_READ_MAX })
    const intent = all.find(({ metadata }) => metadata[PAYMENT_KEY] === topUp.id)
    return intent && answerOf(intent)
  } catch (error) {
    return { state: 'unknown', why: sentenceOf(error, 'to tell of a payment') }
  }
}

const CLOCKS_DIFFER_SECONDS = 600

function centsToPay({ amount }: PendingTopUp): number {
  const cents = centsOf(amount)
  if (cents === undefined) throw new Error('nothing of that amount can be paid')
  return cents
}

function answerOf(intent: Stripe.PaymentIntent): ChargeAnswer {
  const { id, status, amount_received, currency, metadata, last_payment_error: last } = intent
  switch (status) {
    case 'succeeded':
      return {
        state: 'paid',
        paymentIntent: id,
        amount: nanosOfCents(amount_received),
        tax: taxOf(metadata[TAX_KEY]),
        currency,
      }
    case 'processing':
      return { state: 'unknown', why: 'Stripe is still at it' }
    default:
      return { state: 'declined', reason: declineInWords(last?.decline_code, last?.code, status) }
  }
}

function refusalOf(error: unknown): ChargeAnswer {
  if (error instanceof Stripe.errors.StripeCardError)
    return { state: 'declined', reason: declineInWords(error.decline_code, error.code) }
  // Stripe refuses these however often it is asked: the card was detached there, for example.
  if (error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode !== 409)
    return { state: 'declined', reason: declineInWords(error.code) }
  return { state: 'unknown', why: sentenceOf(error, 'to charge a card') }
}

/** The card that a payment was made with. Undefined when it was none, or cannot be charged again. */
export async function readCard(account: StripeAccount, paymentIntent: string): Promise<Card | undefined> {
  const { payment_method: method, customer } = await clientOf(account).paymentIntents.retrieve(paymentIntent, {
    expand: ['payment_method'],
  })
  if (typeof method !== 'object' || !method?.card || typeof customer !== 'string') return undefined
  const { brand, last4, exp_month: expMonth, exp_year: expYear } = method.card
  return { paymentMethod: method.id, customer, brand, last4, expMonth, expYear }
}

/** Undefined when it is done. Who has no such card any more has forgotten it. */
export async function detachCard(account: StripeAccount, paymentMethod: string): Promise<string | undefined> {
  try {
    await clientOf(account).paymentMethods.detach(paymentMethod)
    return undefined
  } catch (error) {
    // Stripe gives the same answer when the card is attached to no customer.
    return error instanceof Stripe.errors.StripeInvalidRequestError ? undefined : sentenceOf(error, 'to forget a card')
  }
}

export interface Paper {
  kind: 'invoice' | 'receipt'
  url: string
}

/** Where Stripe shows the invoice of a checkout, or the receipt of what was charged to a saved card. */
export async function findPaper(
  account: StripeAccount,
  { sessionId, paymentIntent }: { sessionId: string | undefined; paymentIntent: string },
): Promise<Paper | undefined> {
  const client = clientOf(account)
  if (sessionId !== undefined) {
    const { invoice } = await client.checkout.sessions.retrieve(sessionId, { expand: ['invoice'] })
    const url = invoice !== null && typeof invoice === 'object' ? invoice.hosted_invoice_url : undefined
    if (url) return { kind: 'invoice', url }
  }
  const { latest_charge: charge } = await client.paymentIntents.retrieve(paymentIntent, { expand: ['latest_charge'] })
  const url = charge !== null && typeof charge === 'object' ? charge.receipt_url : undefined
  return url ? { kind: 'receipt', url } : undefined
}

/** For operators; never Stripe's own text. */
export function problemWithStripe(error: unknown): string {
  return sentenceOf(error, 'the request')
}
