import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { STATUS_CODES } from 'node:http'
import type { FetchFeed } from '../actions/offers/fetch-feed.ts'
import type { CheckDomain } from '../actions/projects/domain-check/check.ts'
import { errorFields, type Log } from '../platform/log.ts'
import { createProxyWarning } from '../platform/proxy-warning.ts'
import type { Metrics } from '../metrics.ts'
import { createPasswords, type PasswordCost } from '../platform/passwords.ts'
import type { Secrets } from '../platform/secrets.ts'
import { uuidv7 } from '../platform/uuid.ts'
import { proofOf } from '../recommend/gates/proof.ts'
import { createMatcherClient } from '../recommend/matcher-client.ts'
import { createRehearsalClient } from '../recommend/rehearsal-client.ts'
import { matcherTokenOf } from '../recommend/wire.ts'
import { ParleyError, storeUnavailable } from '../rules/errors.ts'
import type { SafetyProof } from '../rules/recommendations/monetization.ts'
import { CLIENT_LIMITS } from '../rules/limits.ts'
import { isUnavailable, type Db } from '../store/database.ts'
import type { Tenants } from '../store/tenancy.ts'
import { apiRoutes } from './api.ts'
import { createAuth, sessionCookieOf } from './accounts/auth.ts'
import { openApiRoute } from './openapi.ts'
import type { StripeAccount } from '../actions/billing/stripe.ts'
import { adLibraryPages } from './public/ad-library.ts'
import { findFigures } from './public/front.ts'
import { publicPages } from './public/pages.ts'
import { measure } from './public/status.ts'
import { isNavigation, protectPages, sendFirstPage, serveWeb, WEB_ROOT } from './web.ts'
import { WEBHOOK_PATH, webhookRoute } from './billing/stripe-webhook.ts'
import { createShares } from './shares.ts'
import type { Installation, World } from './world.ts'

/** The control plane's HTTP surface: the API, the web app that speaks it, and what the payment provider tells. */

const API_BYTES_MAX = 64 * 1024

export interface ConsoleOptions {
  db: Db
  tenants: Tenants
  log: Log
  metrics: Metrics
  secrets: Secrets
  /** The numbers of all root secrets, newest first. */
  secretVersions: readonly number[]
  installation: Installation
  /** Addresses and networks of the proxies that are believed about who is calling. */
  trustedProxies: readonly string[]
  checkDomain: CheckDomain
  /** With little patience: somebody waits for it. */
  fetchFeed: FetchFeed
  /** Where a matcher answers. */
  matcherUrl: string
  /** Without it, nothing can be paid. */
  stripe?: StripeAccount | undefined
  /** Without it nothing can be proven to come from Stripe, so then the endpoint does not exist. */
  webhookSecret: string | undefined
  /** Whether this version may show recommendations to readers; what the safety bench has shown unless given. */
  safetyProof?: () => SafetyProof
  /** Where the built web app is. */
  webRoot?: string
  passwordCost?: PasswordCost
}

export function createConsoleServer(options: ConsoleOptions): FastifyInstance {
  const { db, log, metrics, webhookSecret, installation, trustedProxies, webRoot = WEB_ROOT } = options
  const app = fastify({
    bodyLimit: API_BYTES_MAX,
    ...CLIENT_LIMITS,
    forceCloseConnections: 'idle',
    trustProxy: [...trustedProxies],
    genReqId: () => uuidv7(),
    frameworkErrors: (_error, request, reply) => void refuse(noSuchEndpoint(), request, reply),
  })
  app.removeContentTypeParser('text/plain')
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  const warnOfProxy = createProxyWarning(log)
  app.addHook('onRequest', (request, _reply, done) => {
    warnOfProxy(request)
    done()
  })
  protectPages(app, installation.consoleUrl.startsWith('https://'))
  app.setErrorHandler((error, request, reply) => refuse(ourErrorOf(error), request, reply))
  app.setNotFoundHandler((request, reply) =>
    isNavigation(request) ? sendFirstPage(reply, webRoot) : refuse(noSuchEndpoint(), request, reply),
  )
  if (!serveWeb(app, webRoot)) log.warn({ mend: 'Run "npm run build", then start again.' }, 'the web app is not built')
  openApiRoute(app, installation)
  publicPages(app, {
    installation,
    webRoot,
    log,
    sessionCookie: sessionCookieOf(installation.consoleUrl),
    findFigures: () => findFigures(db),
    measure: (now) => measure(db, now),
  })
  adLibraryPages(app, { db, webRoot })
  const world = worldOf(options)
  app.addHook('onClose', () => Promise.all([world.matcher.close(), world.rehearsals.close()]))
  void app.register((scope, _, done) => {
    apiRoutes(scope, world)
    done()
  })
  if (webhookSecret) {
    void app.register((scope, _, done) => {
      webhookRoute(scope, { db, log, metrics, secret: webhookSecret, stripe: options.stripe })
      done()
    })
  }
  return app

  function refuse(error: ParleyError, request: FastifyRequest, reply: FastifyReply) {
    const { status, code, message } = error
    const { fields, retryAfterSeconds, details } = error.options
    const route = routeOf(request)
    metrics.requests.inc({ route, status })
    metrics.errors.inc({ code })
    const level = code === 'internal' ? 'error' : 'info'
    log[level]({ requestId: request.id, route, status, error: code, ...details })
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds)
    return reply
      .code(status)
      .type('application/json; charset=utf-8')
      .send({ statusCode: status, message, error: STATUS_CODES[status], code, ...(fields && { fields }) })
  }
}

function worldOf(options: ConsoleOptions): World {
  const { db, tenants, log, metrics, secrets, secretVersions, installation, checkDomain, fetchFeed, stripe } = options
  const { safetyProof = () => proofOf() } = options
  const asked = { url: options.matcherUrl, token: matcherTokenOf(secrets) }
  const matcher = createMatcherClient({ ...asked, metrics })
  const rehearsals = createRehearsalClient(asked)
  const passwords = createPasswords(options.passwordCost)
  const auth = createAuth({ db, secrets, secretVersions, passwords, consoleUrl: installation.consoleUrl })
  const shares = createShares(metrics)
  const parts = { db, tenants, log, metrics, secrets, passwords, shares, auth, matcher, rehearsals }
  return { ...parts, installation, checkDomain, fetchFeed, stripe, safetyProof }
}

/** One of a bounded set, for metrics. */
function routeOf(request: FastifyRequest): string {
  const { url } = request.routeOptions
  return url === WEBHOOK_PATH || url?.startsWith('/api/') ? url : 'other'
}

function noSuchEndpoint(): ParleyError {
  return new ParleyError('not_found', { message: 'There is no such endpoint.' })
}

const UNSTORABLE = new Set(['22021', '22P02', '22P05'])

function ourErrorOf(error: unknown): ParleyError {
  const status = (error as { statusCode?: unknown }).statusCode
  if (error instanceof ParleyError) return error
  if (status === 413) return new ParleyError('body_too_large')
  if (status === 415) return new ParleyError('not_json_content')
  if (status === 408) return new ParleyError('body_too_slow')
  if (typeof status === 'number' && status >= 400 && status < 500) return new ParleyError('invalid_request')
  const { error: cause, errorCode: causeCode, problem } = errorFields(error)
  const details = { cause, causeCode, problem }
  // A NUL in a text, a place in a list that nobody gave out: nothing that the store could hold or look for.
  if (UNSTORABLE.has(String(causeCode))) return new ParleyError('invalid_request', { details })
  if (isUnavailable(error)) return storeUnavailable(details)
  return new ParleyError('internal', { details })
}
