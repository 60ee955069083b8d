import { Stripe } from 'stripe'
import { z } from 'zod'
import type { Nanos } from '../rules/money.ts'
import { centsOf, nanosOfCents, PAYMENT_CURRENCY, type PaymentEvent, type ReturnKind } from '../rules/payments.ts'

/** Everything that knows Stripe: how a payment page is asked for, and what its signed events say in our words. */

const TIMEOUT_MS = 10_000
const RETRIES = 2
/** How old a signature may be: a recorded event cannot be sent again tomorrow. */
const TOLERANCE_SECONDS = 300

export interface StripeAccount {
  secretKey: string
  /** Where the API is; Stripe's own address when undefined. */
  apiBase: string | undefined
}

export interface CheckoutOrder {
  projectId: string
  amount: Nanos
  successUrl: string
  cancelUrl: string | undefined
}

export async function createCheckoutSession(account: StripeAccount, order: CheckoutOrder) {
  const cents = centsOf(order.amount)
  if (cents === undefined) throw new Error('nothing of that amount can be paid')
  const metadata = { parley_project: order.projectId }
  try {
    const session = await clientOf(account).checkout.sessions.create({
      mode: 'payment',
      line_items: [
        {
          quantity: 1,
          price_data: { currency: PAYMENT_CURRENCY, unit_amount: cents, product_data: { name: 'Prepaid credit' } },
        },
      ],
      client_reference_id: order.projectId,
      metadata,
      payment_intent_data: { metadata },
      success_url: order.successUrl,
      ...(order.cancelUrl !== undefined && { cancel_url: order.cancelUrl }),
    })
    if (!session.url) throw new Error('Stripe made a checkout without a page')
    return { sessionId: session.id, url: session.url }
  } catch (error) {
    throw new Error(sentenceOf(error), { cause: error })
  }
}

function clientOf({ secretKey, apiBase }: StripeAccount): Stripe {
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
function sentenceOf(error: unknown): string {
  if (error instanceof Stripe.errors.StripeAuthenticationError || error instanceof Stripe.errors.StripePermissionError)
    return 'Stripe refuses the key in PARLEY_STRIPE_SECRET_KEY'
  if (error instanceof Stripe.errors.StripeConnectionError) return 'Stripe cannot be reached'
  if (error instanceof Stripe.errors.StripeError)
    return `Stripe refused the checkout (${error.code ?? error.type}${error.param === undefined ? '' : `: ${error.param}`})`
  return 'Stripe gave an answer that makes no sense'
}

export type SignedEvent =
  | { rejected: 'signature' | 'stale' | 'malformed' }
  /** `event` is undefined when it does not concern the ledger. */
  | { rejected?: undefined; id: string; type: string; event: PaymentEvent | undefined }

/** Reads an event only after its signature has proven that Stripe wrote these very bytes, a short time ago. */
export function readSignedEvent(body: Buffer, signature: string, secret: string): SignedEvent {
  try {
    const { id, type, data } = envelope.parse(
      Stripe.webhooks.constructEvent(body, signature, secret, TOLERANCE_SECONDS),
    )
    return { id, type, event: eventOf(type, data.object) }
  } catch (error) {
    // Whatever else is thrown, the signature had been found right before.
    if (!(error instanceof Stripe.errors.StripeSignatureVerificationError)) return { rejected: 'malformed' }
    return { rejected: /tolerance/.test(error.message) ? 'stale' : 'signature' }
  }
}

const id = z.string().min(1).max(200)
const cents = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER)
const currency = z.string().min(1).max(10)
const envelope = z.object({ id, type: z.string().max(200), data: z.object({ object: z.unknown() }) })
const checkout = z.object({ id, payment_status: z.string() })
const paidCheckout = z.object({ id, payment_intent: id, amount_total: cents, currency })
const refundedCharge = z.object({ id, payment_intent: id.nullish(), amount_refunded: cents, currency })
const dispute = z.object({ id, payment_intent: id.nullish(), amount: cents, currency, status: z.string().nullish() })

function eventOf(type: string, object: unknown): PaymentEvent | undefined {
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
        currency: paid.currency,
      }
    }
    case 'checkout.session.expired':
      return { type: 'expired', sessionId: checkout.parse(object).id }
    case 'charge.refunded': {
      const charge = refundedCharge.parse(object)
      return returnOf({ ...charge, kind: 'refund', amount: charge.amount_refunded })
    }
    // From the day a dispute begins, also when it is only an inquiry, what was paid cannot be spent.
    case 'charge.dispute.created':
    case 'charge.dispute.funds_withdrawn':
      return returnOf({ ...dispute.parse(object), kind: 'chargeback' })
    case 'charge.dispute.closed':
    case 'charge.dispute.funds_reinstated': {
      const closed = dispute.parse(object)
      const isLost = closed.status === 'lost' && type === 'charge.dispute.closed'
      return isLost ? undefined : returnOf({ ...closed, kind: 'chargeback' }, 'reinstated')
    }
    default:
      return undefined
  }
}

type Returned = Omit<z.output<typeof dispute>, 'status'> & { kind: ReturnKind }

function returnOf(back: Returned, type: 'returned' | 'reinstated' = 'returned'): PaymentEvent | undefined {
  // Not of a checkout, so not of ours.
  if (back.payment_intent == null) return undefined
  const { id: returnId, payment_intent: paymentIntent, kind, amount, currency: paidIn } = back
  return { type, id: returnId, paymentIntent, kind, amount: nanosOfCents(amount), currency: paidIn }
}
