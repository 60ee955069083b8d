import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../../platform/log.ts'
import type { Metrics } from '../../metrics.ts'
import type { PaidEvent } from '../../rules/billing/payments.ts'
import { ParleyError } from '../../rules/errors.ts'
import { isCardAwaited } from '../../store/billing/top-ups/wallet-cards.ts'
import type { Db } from '../../store/database.ts'
import { applyPaymentEvent, isRejection, type Verdict } from '../../actions/billing/payments.ts'
import { readSignedEvent, type StripeAccount } from '../../actions/billing/stripe.ts'
import { problemWithStripe, readCard } from '../../actions/billing/stripe-cards.ts'
import { saveCard } from '../../actions/billing/wallet-cards.ts'

/** Events from the payment provider. */

export const WEBHOOK_PATH = '/webhooks/stripe'
/** Stripe's events have a few kilobytes; the largest carry long lists that do not concern us. */
const WEBHOOK_BYTES_MAX = 1024 * 1024

export interface WebhookOptions {
  db: Db
  log: Log
  metrics: Metrics
  secret: string
  /** To ask which card a payment was made with. Undefined: cards are not saved here. */
  stripe: StripeAccount | undefined
}

/** To be registered in a scope of its own: here alone, a body stays the bytes as they came. */
export function webhookRoute(scope: FastifyInstance, options: WebhookOptions): void {
  scope.removeAllContentTypeParsers()
  // A signature over a body that was parsed and written again would never fit.
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  scope.post(WEBHOOK_PATH, { bodyLimit: WEBHOOK_BYTES_MAX }, (request, reply) => answerWebhook(options, request, reply))
}

async function keepCard(db: Db, stripe: StripeAccount, { sessionId, paymentIntent }: PaidEvent): Promise<void> {
  if (!(await isCardAwaited(db, sessionId))) return
  const card = await readCard(stripe, paymentIntent).catch((error: unknown) => {
    throw new ParleyError('upstream_failed', { details: { reason: problemWithStripe(error) } })
  })
  await saveCard(db, sessionId, card)
}

async function answerWebhook(
  { db, log, metrics, secret, stripe }: WebhookOptions,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  if (!Buffer.isBuffer(request.body)) throw new ParleyError('not_json_content')
  const signature = request.headers['stripe-signature']
  const signed = readSignedEvent(request.body, typeof signature === 'string' ? signature : '', secret)
  if (signed.rejected !== undefined) {
    metrics.webhookRejects.inc({ why: signed.rejected })
    const message = 'The event is not one that Stripe signed for this endpoint in the last minutes.'
    throw new ParleyError('invalid_request', { message, details: { why: signed.rejected } })
  }
  const verdict: Verdict = signed.event ? await applyPaymentEvent(db, signed.event) : 'unchanged'
  // The credit is booked by now. If Stripe does not say which card it was, this event is answered with an error and comes again.
  if (stripe && signed.event?.type === 'paid' && !isRejection(verdict)) await keepCard(db, stripe, signed.event)
  const line = { requestId: request.id, route: WEBHOOK_PATH, status: 200, event: signed.id, type: signed.type, verdict }
  metrics.requests.inc({ route: WEBHOOK_PATH, status: 200 })
  if (isRejection(verdict)) {
    metrics.webhookRejects.inc({ why: verdict })
    log.warn(line, 'a payment event was not honoured')
  } else {
    log.info(line)
  }
  // Stripe shows the body to who looks at a delivery. Sending a refused one again would not change the verdict: 200.
  return reply.send({ verdict })
}
