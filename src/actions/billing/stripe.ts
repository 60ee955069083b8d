import { Stripe } from 'stripe'
import { z } from 'zod'
import type { Nanos } from '../../rules/money.ts'
import {
  centsOf,
  nanosOfCents,
  PAYMENT_CURRENCY,
  RETURN_STAGES,
  type PaymentEvent,
  type PaymentReturn,
  type ReturnStage,
} from '../../rules/billing/payments.ts'

/** Everything that knows Stripe: how a payment page is asked for, and what its signed events say in our words. */

const TIMEOUT_MS = 10_000
const RETRIES = 2
/** How old a signature may be: a recorded event cannot be sent again tomorrow. */
const TOLERANCE_SECONDS = 300

export const CREDIT_NAME = 'Prepaid credit'
/** Under which a payment without a checkout says which it is. */
export const PAYMENT_KEY = 'parley_payment'
/** And under which it says what of it is tax, in cents. */
export const TAX_KEY = 'parley_tax_cents'

/** No page was made. Its message is a sentence for the operator. */
export class CheckoutFailed extends Error {}

export interface StripeAccount {
  secretKey: string
  /** Where the API is; Stripe's own address when undefined. */
  apiBase: string | undefined
  /** Whether Stripe works out tax and asks for it on top. */
  hasTax: boolean
}

export interface CheckoutOrder {
  /** The project or the advertiser that the credit is for. */
  payer: { project: string } | { advertiser: string }
  amount: Nanos
  /** The payer wants the card to be kept for automatic top-ups. */
  savesCard: boolean
  successUrl: string
  cancelUrl: string | undefined
}

export async function createCheckoutSession(account: StripeAccount, order: CheckoutOrder) {
  const cents = centsOf(order.amount)
  if (cents === undefined) throw new Error('nothing of that amount can be paid')
  const [payerId, metadata] =
    'project' in order.payer
      ? [order.payer.project, { parley_project: order.payer.project }]
      : [order.payer.advertiser, { parley_advertiser: order.payer.advertiser }]
  const price = { currency: PAYMENT_CURRENCY, unit_amount: cents, product_data: { name: CREDIT_NAME } }
  try {
    const session = await clientOf(account).checkout.sessions.create({
      mode: 'payment',
      line_items: [{ quantity: 1, price_data: account.hasTax ? { ...price, tax_behavior: 'exclusive' } : price }],
      client_reference_id: payerId,
      metadata,
      payment_intent_data: { metadata, ...(order.savesCard && { setup_future_usage: 'off_session' as const }) },
      invoice_creation: { enabled: true, invoice_data: { metadata } },
      ...(order.savesCard && SAVED),
      ...(account.hasTax && TAXED),
      success_url: order.successUrl,
      ...(order.cancelUrl !== undefined && { cancel_url: order.cancelUrl }),
    })
    if (!session.url) throw new Error('Stripe made a checkout without a page')
    return { sessionId: session.id, url: session.url }
  } catch (error) {
    throw new CheckoutFailed(sentenceOf(error), { cause: error })
  }
}

/** The facts that tax depends on: where the payer is, and whether they are a business. */
const TAXED = {
  automatic_tax: { enabled: true },
  billing_address_collection: 'required',
  tax_id_collection: { enabled: true },
} satisfies Stripe.Checkout.SessionCreateParams

/** A customer of Stripe's keeps the card. Nothing but a card: of others we could neither show which it is nor say when it ends. */
const SAVED = {
  customer_creation: 'always',
  allowed_payment_method_types: ['card'],
} satisfies Stripe.Checkout.SessionCreateParams

export function clientOf({ secretKey, apiBase }: StripeAccount): Stripe {
  const base = apiBase === undefined ? undefined : new URL(apiBase)
  return new Stripe(secretKey, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
    ...(base && {
      protocol: base.protocol === 'http:' ? 'http' : 'https',
      host: base.hostname,
      port: base.port || undefined,
    }),
  })
}

/** Never Stripe's own text: it quotes part of the key. */
export function sentenceOf(error: unknown, what = 'the checkout'): string {
  if (error instanceof Stripe.errors.StripeAuthenticationError || error instanceof Stripe.errors.StripePermissionError)
    return 'Stripe refuses the key in PARLEY_STRIPE_SECRET_KEY'
  if (error instanceof Stripe.errors.StripeConnectionError) return 'Stripe cannot be reached'
  if (error instanceof Stripe.errors.StripeError)
    return `Stripe refused ${what} (${error.code ?? error.type}${error.param === undefined ? '' : `: ${error.param}`})`
  return 'Stripe gave an answer that makes no sense'
}

export type SignedEvent =
  | { rejected: 'signature' | 'stale' | 'malformed' }
  /** `event` is undefined when it does not concern the ledger. */
  | { rejected?: undefined; id: string; type: string; event: PaymentEvent | undefined }

/** Reads an event only after its signature has proven that Stripe wrote these very bytes, a short time ago. */
export function readSignedEvent(body: Buffer, signature: string, secret: string): SignedEvent {
  try {
    const { id, type, created, data } = envelope.parse(
      Stripe.webhooks.constructEvent(body, signature, secret, TOLERANCE_SECONDS),
    )
    return { id, type, event: eventOf(type, new Date(created * 1000), data.object) }
  } catch (error) {
    // Any other error is thrown only after the signature was found right.
    if (!(error instanceof Stripe.errors.StripeSignatureVerificationError)) return { rejected: 'malformed' }
    return { rejected: /tolerance/.test(error.message) ? 'stale' : 'signature' }
  }
}

const id = z.string().min(1).max(200)
const cents = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER)
const currency = z.string().min(1).max(10)
const seconds = z.number().int().min(0).max(100_000_000_000)
const envelope = z.object({
  id,
  type: z.string().max(200),
  created: seconds,
  data: z.object({ object: z.unknown() }),
})
const checkout = z.object({ id, payment_status: z.string() })
const paidCheckout = z.object({
  id,
  payment_intent: id,
  amount_total: cents,
  /** Before tax. */
  amount_subtotal: cents.nullish(),
  currency,
})
/** Only a payment that we began without a checkout has a name of ours. */
const chargedCard = z.object({
  id,
  amount_received: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  currency,
  metadata: z.object({ [PAYMENT_KEY]: id.optional(), [TAX_KEY]: z.string().optional() }).nullish(),
})
const refundedCharge = z.object({ id, payment_intent: id.nullish(), amount_refunded: cents, currency })
const dispute = z.object({ id, payment_intent: id.nullish(), amount: cents, currency, status: z.string().nullish() })

function eventOf(type: string, toldAt: Date, object: unknown): PaymentEvent | undefined {
  switch (type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded': {
      // A bank transfer completes the checkout days before it is paid; then the second event tells.
      if (checkout.parse(object).payment_status !== 'paid') return undefined
      const paid = paidCheckout.parse(object)
      const { id: sessionId, payment_intent: paymentIntent } = paid
      return {
        type: 'paid',
        sessionId,
        paymentIntent,
        amount: nanosOfCents(paid.amount_total),
        tax: nanosOfCents(paid.amount_total - (paid.amount_subtotal ?? paid.amount_total)),
        currency: paid.currency,
      }
    }
    case 'payment_intent.succeeded':
      return paidCardOf(object)
    case 'checkout.session.expired':
      return { type: 'expired', sessionId: checkout.parse(object).id }
    case 'charge.refunded': {
      const charge = refundedCharge.parse(object)
      const back = returnOf({ ...charge, amount: charge.amount_refunded })
      return back && { type: 'returned', ...back, kind: 'refund', toldAt, stage: RETURN_STAGES.refund }
    }
    // From the day a dispute begins, also when it is only an inquiry, what was paid cannot be spent.
    case 'charge.dispute.created':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.closed':
    case 'charge.dispute.funds_reinstated': {
      const told = dispute.parse(object)
      const back = returnOf(told)
      const isClosed = type === 'charge.dispute.closed'
      const isOurs = type === 'charge.dispute.funds_reinstated' || (isClosed && told.status !== 'lost')
      const stage = stageOf(told.status ?? '', isClosed)
      return back && { type: isOurs ? 'reinstated' : 'returned', ...back, kind: 'chargeback', toldAt, stage }
    }
    default:
      return undefined
  }
}

/** Undefined when it is the payment of a checkout, which has an event of its own. */
function paidCardOf(object: unknown): PaymentEvent | undefined {
  const { id: paymentIntent, amount_received, currency: paidIn, metadata } = chargedCard.parse(object)
  const sessionId = metadata?.[PAYMENT_KEY]
  if (sessionId === undefined) return undefined
  const amount = nanosOfCents(amount_received)
  return { type: 'paid', sessionId, paymentIntent, amount, tax: taxOf(metadata?.[TAX_KEY]), currency: paidIn }
}

/** As the payment itself says it: tax may have been switched on or off between two tries, of which one was charged. */
export function taxOf(taxCents: string | undefined): Nanos | undefined {
  return taxCents !== undefined && /^\d{1,12}$/.test(taxCents) ? nanosOfCents(Number(taxCents)) : undefined
}

/** By the status that the dispute had when the event was made: an inquiry may become a dispute, but nothing goes back. */
function stageOf(status: string, isClosed: boolean): ReturnStage {
  if (status === 'warning_closed') return RETURN_STAGES.inquiryClosed
  if (isClosed || status === 'won' || status === 'lost') return RETURN_STAGES.disputeClosed
  return status.startsWith('warning_') ? RETURN_STAGES.inquiry : RETURN_STAGES.dispute
}

type Returned = Pick<z.output<typeof dispute>, 'id' | 'payment_intent' | 'amount' | 'currency'>

function returnOf(back: Returned): Pick<PaymentReturn, 'id' | 'paymentIntent' | 'amount' | 'currency'> | undefined {
  // Not of a checkout, so not of ours.
  if (back.payment_intent == null) return undefined
  const { id: returnId, payment_intent: paymentIntent, amount, currency: paidIn } = back
  return { id: returnId, paymentIntent, amount: nanosOfCents(amount), currency: paidIn }
}
