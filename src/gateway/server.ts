import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { ServerResponse } from 'node:http'
import { JsonError, parseJson, parseJsonInTurns } from '../platform/json.ts'
import { createProxyWarning } from '../platform/proxy-warning.ts'
import { rateHeadersOf } from '../rules/billing/limits.ts'
import { endUserIdOf, endUserLabelOf } from '../rules/calls/end-users.ts'
import { errorFields, framesOf } from '../platform/log.ts'
import { uuidv7 } from '../platform/uuid.ts'
import { parseChatRequest } from '../rules/calls/chat-request.ts'
import { asParleyError, ParleyError } from '../rules/errors.ts'
import { CLIENT_LIMITS, JSON_LIMITS, LARGE_BODY_BYTES } from '../rules/limits.ts'
import type { Caller } from './authenticate.ts'
import { completionIdOf } from '../rules/billing/receipts.ts'
import { answerCredits } from './credits.ts'
import { HungUp, type Call } from './call.ts'
import { chatCompletion } from './chat-completions.ts'
import type { Gateway } from './gateway.ts'
import { declaredBytesOf, formatOf, headerOf, keysOf } from './headers.ts'
import type { Admission } from './intake/admission.ts'
import type { Work } from './intake/work.ts'
import { answerModels } from './models.ts'
import { answerReceipt } from './receipts.ts'
import { observeCall, observeRequest } from './observe.ts'
import { ourErrorOf, refuse, refuseMalformed } from './response/refuse.ts'
import { respondWithEvents, respondWithJson, sendError } from './response/respond.ts'

/** The public HTTP surface: completions, models, credits, receipts, and how everything else is refused. */

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    admission: Admission
    /** It has become a call, which has its place until it is settled. */
    isCall: boolean
    startedMs: number
    refusal: ParleyError | undefined
  }
}

/** What a known path answers to, for telling 405 from 404. */
function methodsOf(path: string): string | undefined {
  if (path === '/v1/chat/completions') return 'POST'
  return path === '/v1/models' || path === '/v1/credits' || /^\/(?:v1\/receipts|r|w)\/[^/]+$/.test(path)
    ? 'GET, HEAD'
    : undefined
}

export interface ServerOptions {
  heartbeatMs?: number
  /** Addresses and networks of the proxies that are believed about who is calling. */
  trustedProxies?: readonly string[]
}

export function createServer(gateway: Gateway, options: ServerOptions = {}): FastifyInstance {
  const app = fastify({
    trustProxy: [...(options.trustedProxies ?? [])],
    requestTimeout: CLIENT_LIMITS.requestTimeout,
    keepAliveTimeout: 75_000,
    // A missing Host header is refused below, with a body that says so.
    http: { ...CLIENT_LIMITS.http, requireHostHeader: false },
    forceCloseConnections: 'idle',
    // While the port closes, requests on kept-alive connections are still ours to answer, in our own words.
    return503OnClosing: false,
    genReqId: () => uuidv7(),
    frameworkErrors: (_error, request, reply) => void refuse(new ParleyError('not_found'), request, reply),
    clientErrorHandler: refuseMalformed,
  })
  app.decorateRequest('caller', undefined as unknown as Caller)
  app.decorateRequest('admission', undefined as unknown as Admission)
  app.decorateRequest('isCall', false)
  app.decorateRequest('startedMs', 0)
  app.decorateRequest('refusal', undefined)
  app.removeAllContentTypeParsers()
  // Read by whoever answers: only there is it known how much of it may be.
  app.addContentTypeParser('application/json', (_request, stream, done) => done(null, stream))

  app.addHook('onRequest', (request, reply, done) => {
    request.startedMs = performance.now()
    reply.header('x-request-id', request.id)
    if (gateway.isDraining) reply.header('connection', 'close')
    done(
      request.headers.host === undefined && request.raw.httpVersion === '1.1'
        ? new ParleyError('malformed')
        : undefined,
    )
  })
  const warnOfProxy = createProxyWarning(gateway.log)
  app.addHook('onRequest', (request, _reply, done) => {
    warnOfProxy(request)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    // A completion says more of itself, when it has been settled.
    if (reply.getHeader('x-completion-id') === undefined) observeRequest(gateway, request, reply.statusCode)
    done()
  })
  app.setErrorHandler((error, request, reply) => refuse(ourErrorOf(error), request, reply))
  app.setNotFoundHandler((request, reply) => {
    const allow = methodsOf(request.url.split('?', 1)[0] ?? '')
    return refuse(new ParleyError(allow ? 'method_not_allowed' : 'not_found', { allow }), request, reply)
  })

  const admitted = { onRequest: admitWith(gateway) }
  // An expectation that we do not know is no reason to refuse a request that we do.
  app.server.on('checkExpectation', (req, res) => app.routing(req, res))
  // Whoever waits for a word before it sends its body gets it when the body is wanted.
  app.server.on('checkContinue', (req, res) => app.routing(req, res))
  app.get('/v1/models', admitted, (request, reply) => answerModels(gateway, request, reply))
  app.get('/v1/credits', admitted, (request, reply) => answerCredits(gateway, request, reply))
  app.get('/v1/receipts/:id', admitted, (request, reply) => answerReceipt(gateway.db, request, reply))
  app.post('/v1/chat/completions', admitted, (request, reply) => answerCompletion(gateway, options, request, reply))
  app.get('/r/:token', (request, reply) => gateway.links.offer(request, reply))
  app.get('/w/:token', (request, reply) => gateway.links.why(request, reply))
  return app
}

/** Steps 2 to 3a: the keys, the account and the domain, and whether there is room for it. Nothing of the body is read before. */
function admitWith({ intake, authenticate }: Gateway) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    intake.greet(request.ip) // 429
    request.caller = await authenticate(keysOf(request)).catch((error: unknown) => {
      const refusal = asParleyError(error)
      if (refusal.status === 401) return intake.refuseKeys(request.ip, refusal)
      throw error
    })
    request.admission = intake.admit(request.caller, declaredBytesOf(request.raw)) // 403, 429
    whenClosed(reply.raw, () => {
      if (!request.isCall) request.admission.release()
    })
  }
}

/** Of an error that nobody foresaw; what lies deeper is Fastify's. */
const FRAMES_LOGGED = 8

async function answerCompletion(
  gateway: Gateway,
  options: ServerOptions,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  // From here on its place and memory are given back when nothing of it is left, however early its caller hangs up.
  request.isCall = true
  try {
    const bytes = await bytesOf(gateway, request, reply) // 403, 408, 413, 415, 429, 503
    const body = await bodyOf(gateway.work, request, reply, bytes) // 400
    await answerCall(gateway, options, request, reply, { body, bodyBytes: bytes.length })
  } finally {
    request.admission.release()
  }
}

async function answerCall(
  gateway: Gateway,
  options: ServerOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  sent: Pick<Call, 'body' | 'bodyBytes'>,
) {
  const abort = new AbortController()
  const call: Call = {
    id: uuidv7(),
    requestId: request.id,
    caller: request.caller,
    ...sent,
    conversationId: headerOf(request, 'x-conversation-id'),
    endUser: endUserOf(request, sent.body),
    idempotencyKey: headerOf(request, 'idempotency-key'),
    monetizationHeader: headerOf(request, 'x-monetization'),
    createdAt: new Date(),
    startedMs: request.startedMs,
    signal: abort.signal,
    facts: { streamed: false, attempts: [] },
    progress: {},
  }
  const res = takeOver(reply, call)
  // Not the request's `close`, which comes as soon as its body has been read.
  whenClosed(res, () => {
    if (!res.writableFinished && call.idempotencyKey === undefined)
      abort.abort(new HungUp('caller closed the connection'))
  })
  gateway.running.set(call.id, abort)
  gateway.metrics.callsRunning.set(gateway.running.size)
  let failure: ParleyError | undefined
  try {
    await respond(gateway, options, call, request, res)
  } catch (error) {
    if (!(error instanceof HungUp)) {
      failure = asParleyError(error)
      if (failure.code === 'internal') {
        const stack = framesOf(error).slice(0, FRAMES_LOGGED).join('\n')
        gateway.log.error({ requestId: call.requestId, ...errorFields(error), stack }, 'unexpected')
      }
      sendError(res, failure, formatOf(request))
    }
  } finally {
    gateway.running.delete(call.id)
    gateway.metrics.callsRunning.set(gateway.running.size)
    observeCall(gateway, call, res.headersSent ? res.statusCode : 499, failure)
  }
}

/** From here on the answer is written to the socket itself: Fastify would buffer or reorder what a stream needs. */
function takeOver(reply: FastifyReply, call: Call): ServerResponse {
  reply.header('x-completion-id', completionIdOf(call.id))
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value)
  return reply.raw
}

async function respond(
  gateway: Gateway,
  options: ServerOptions,
  call: Call,
  request: FastifyRequest,
  res: ServerResponse,
): Promise<void> {
  const asked = gateway.work.run(call.caller.publisherId, () => parseChatRequest(call.body)) // 400, 422
  const headOf = () => ({
    id: completionIdOf(call.progress.replayed?.callId ?? call.id),
    created: call.progress.replayed?.created ?? Math.floor(call.createdAt.getTime() / 1000),
    model: asked.model,
    isReplayed: call.progress.replayed !== undefined,
    headers: rateHeadersOf(call.progress.rates, new Date()),
  })
  call.facts.streamed = asked.stream
  const chunks = chatCompletion(gateway, call, asked)
  if (!asked.stream) return respondWithJson(res, chunks, headOf)
  return respondWithEvents(res, chunks, headOf, {
    format: formatOf(request),
    includeUsage: asked.includeUsage,
    heartbeatMs: options.heartbeatMs,
    onStall: (isStalled) => void (call.progress.isStalled = isStalled),
    onSlowReader: () => gateway.metrics.slowReaders.inc(),
  })
}

async function bytesOf({ intake }: Gateway, request: FastifyRequest, reply: FastifyReply): Promise<Buffer> {
  if (request.body === undefined) throw new ParleyError('not_json_content')
  if (request.headers.expect?.toLowerCase() === '100-continue') reply.raw.writeContinue()
  return intake.read(request.raw, request.admission)
}

async function bodyOf(
  work: Work,
  { caller: { publisherId } }: FastifyRequest,
  { raw: res }: FastifyReply,
  bytes: Buffer,
): Promise<unknown> {
  try {
    if (bytes.length < LARGE_BODY_BYTES) return work.run(publisherId, () => parseJson(bytes, JSON_LIMITS))
    return await work.runInTurn(publisherId, async (giveWay) => {
      // Who has left while it waited for its turn is not worth the work.
      if (res.destroyed) throw new ParleyError('invalid_request', { message: 'The connection ended.' })
      return parseJsonInTurns(bytes, JSON_LIMITS, giveWay)
    })
  } catch (error) {
    if (error instanceof JsonError) throw new ParleyError('invalid_request', { message: error.message })
    throw error
  }
}

function endUserOf(request: FastifyRequest, body: unknown): Call['endUser'] {
  const id = endUserIdOf(headerOf(request, 'x-end-user-id'), body)
  return id === undefined ? undefined : { id, label: endUserLabelOf(headerOf(request, 'x-end-user-label')) }
}

/** At once, if it is closed already. */
function whenClosed(res: ServerResponse, then: () => void): void {
  if (res.closed) then()
  else res.once('close', then)
}
