import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { STATUS_CODES } from 'node:http'
import { errorFields, type Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { uuidv7 } from '../platform/uuid.ts'
import { ParleyError } from '../rules/errors.ts'
import { CLIENT_HEADERS_TIMEOUT_MS, CLIENT_REQUEST_TIMEOUT_MS, HEADER_BYTES_MAX } from '../rules/limits.ts'
import { isUnavailable, type Db } from '../store/database.ts'
import { applyPaymentEvent, isRejection, type Verdict } from './payments.ts'
import { readSignedEvent } from './stripe.ts'

/** The control plane's HTTP surface. For now: what the payment provider tells. */

const WEBHOOK_PATH = '/webhooks/stripe'
/** Stripe's events have a few kilobytes; the largest carry long lists that do not concern us. */
const WEBHOOK_BYTES_MAX = 1024 * 1024

export interface ConsoleOptions {
  db: Db
  log: Log
  metrics: Metrics
  /** Without it nothing can be proven to come from Stripe, so then the endpoint does not exist. */
  webhookSecret: string | undefined
}

export function createConsoleServer(options: ConsoleOptions): FastifyInstance {
  const { log, metrics, webhookSecret } = options
  const app = fastify({
    bodyLimit: WEBHOOK_BYTES_MAX,
    requestTimeout: CLIENT_REQUEST_TIMEOUT_MS,
    http: { maxHeaderSize: HEADER_BYTES_MAX, headersTimeout: CLIENT_HEADERS_TIMEOUT_MS },
    forceCloseConnections: 'idle',
    genReqId: () => uuidv7(),
    frameworkErrors: (_error, request, reply) => void refuse(noSuchEndpoint(), request, reply),
  })
  app.removeAllContentTypeParsers()
  // The bytes as they came: a signature over a body that was parsed and written again would never fit.
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  app.setErrorHandler((error, request, reply) => refuse(ourErrorOf(error), request, reply))
  app.setNotFoundHandler((request, reply) => refuse(noSuchEndpoint(), request, reply))
  if (webhookSecret) app.post(WEBHOOK_PATH, (request, reply) => answerWebhook(options, webhookSecret, request, reply))
  return app

  function refuse(error: ParleyError, request: FastifyRequest, reply: FastifyReply) {
    const { status, code, message } = error
    const route = request.routeOptions.url === WEBHOOK_PATH ? WEBHOOK_PATH : 'other'
    metrics.requests.inc({ route, status })
    metrics.errors.inc({ code })
    const level = code === 'internal' ? 'error' : 'info'
    log[level]({ requestId: request.id, route, status, error: code, ...error.options.details })
    if (error.options.retryAfterSeconds !== undefined) reply.header('retry-after', error.options.retryAfterSeconds)
    return reply.code(status).send({ statusCode: status, message, error: STATUS_CODES[status] })
  }
}

function noSuchEndpoint(): ParleyError {
  return new ParleyError('not_found', { message: 'There is no such endpoint.' })
}

async function answerWebhook(
  { db, log, metrics }: ConsoleOptions,
  secret: string,
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

function ourErrorOf(error: unknown): ParleyError {
  const status = (error as { statusCode?: unknown }).statusCode
  if (error instanceof ParleyError) return error
  if (status === 413) return new ParleyError('body_too_large')
  if (status === 415) return new ParleyError('not_json_content')
  if (status === 408) return new ParleyError('body_too_slow')
  if (typeof status === 'number' && status >= 400 && status < 500) return new ParleyError('invalid_request')
  const { error: cause, errorCode: causeCode } = errorFields(error)
  const details = { cause, causeCode }
  if (isUnavailable(error)) return new ParleyError('store_unavailable', { retryAfterSeconds: 2, details })
  return new ParleyError('internal', { details })
}
