import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { createProxyWarning } from '../platform/proxy-warning.ts'
import { uuidv7 } from '../platform/uuid.ts'
import { CALL_ENDPOINTS, methodsOf } from '../rules/endpoints.ts'
import { asParleyError, methodNotAllowed, ParleyError } from '../rules/errors.ts'
import { CLIENT_LIMITS } from '../rules/limits.ts'
import type { DocumentOptions } from '../rules/openapi/document.ts'
import type { Caller } from './authenticate.ts'
import { chatCompletions } from './chat-completions.ts'
import type { CallEndpoint } from './endpoint.ts'
import { embeddings } from './endpoints/embeddings.ts'
import { answerConversion } from './endpoints/conversions.ts'
import { answerCredits } from './endpoints/credits.ts'
import { answerModel, answerModels } from './endpoints/models.ts'
import { answerOpenApi } from './endpoints/openapi.ts'
import { answerReceipt } from './endpoints/receipts.ts'
import { responses } from './endpoints/responses.ts'
import type { Gateway } from './gateway.ts'
import { declaredBytesOf, keysOf } from './headers.ts'
import type { Admission } from './intake/admission.ts'
import { noteUnexpected, observeRequest } from './observe.ts'
import { readOptionalJson } from './intake/read-json.ts'
import { problemPage, sendPage } from './recommendations/pages.ts'
import { beginRefusal, noteAnswer, ourErrorOf, refuse, refuseMalformed } from './response/refuse.ts'
import { whenClosed } from './response/when-closed.ts'
import { serveCall, type ServeOptions } from './serve-call.ts'
import { answerSession } from './sessions/answer-session.ts'
import { expectAllowed, SESSION_ENDPOINTS } from './sessions/bounds.ts'
import { answerPreflight, letPagesRead } from './sessions/cors.ts'

/** The public HTTP surface: completions, responses, embeddings, models, credits, receipts, sessions, and how everything else is refused. */

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

/** The endpoints whose requests are calls. */
const ENDPOINTS: readonly CallEndpoint[] = [chatCompletions, responses, embeddings]

export interface ServerOptions extends ServeOptions {
  /** Addresses and networks of the proxies that are believed about who is calling. */
  trustedProxies?: readonly string[]
  /** Where callers find this gateway, and people its documentation. */
  addresses?: DocumentOptions
}

const LOCAL: DocumentOptions = { publicUrl: 'http://127.0.0.1:8080', consoleUrl: 'http://127.0.0.1:8081' }

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
    noteAnswer(reply.raw)
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
  app.setErrorHandler((error, request, reply) => refuse(refusalOf(gateway, error, request), request, reply))
  app.setNotFoundHandler((request, reply) => {
    letPagesRead(request, reply)
    const [path = ''] = request.url.split('?', 1)
    if (path === '/') return refuse(new ParleyError('not_found', { message: greetingOf(options) }), request, reply)
    const allow = methodsOf(path)
    if (allow === undefined) return refuse(new ParleyError('not_found'), request, reply)
    return refuse(methodNotAllowed(request.method, allow), request, reply)
  })

  // An expectation that we do not know is no reason to refuse a request that we do.
  app.server.on('checkExpectation', (req, res) => app.routing(req, res))
  // A client that waits for a word before it sends its body gets it when the body is wanted.
  app.server.on('checkContinue', (req, res) => app.routing(req, res))
  addEndpoints(app, gateway, options)
  return app
}

/** For who opens the address itself: there is nothing at it, but there is where they want to go. */
function greetingOf({ addresses: { publicUrl, consoleUrl } = LOCAL }: ServerOptions): string {
  return `This is Parley, a gateway to language models: read ${consoleUrl}/docs, or let a program read ${publicUrl}/openapi.json.`
}

/** A reader's form has one short field. */
const FORM_BYTES_MAX = 1_024
const CONVERSION_BYTES_MAX = 8_192

function addEndpoints(app: FastifyInstance, gateway: Gateway, options: ServerOptions): void {
  const admitted = { onRequest: admitWith(gateway) }
  app.get('/v1/models', admitted, (request, reply) => answerModels(gateway, request, reply))
  app.get('/v1/models/*', admitted, (request, reply) => answerModel(gateway, request, reply))
  app.get('/v1/credits', admitted, (request, reply) => answerCredits(gateway, request, reply))
  app.get('/v1/receipts/:id', admitted, (request, reply) => answerReceipt(gateway.db, request, reply))
  for (const endpoint of ENDPOINTS)
    app.post(CALL_ENDPOINTS[endpoint.name].path, admitted, (request, reply) =>
      serveCall(gateway, endpoint, options, request, reply),
    )
  app.post('/v1/sessions', admitted, async (request, reply) => {
    const { body } = await readOptionalJson(gateway, request, reply)
    return answerSession(gateway, request, reply, body)
  })
  for (const path of SESSION_ENDPOINTS.keys()) app.options(path, answerPreflight(gateway))
  app.get('/openapi.json', answerOpenApi(gateway, options.addresses ?? LOCAL))
  const forReaders = { errorHandler: refuseReader(gateway) }
  app.get('/r/:token', forReaders, (request, reply) => gateway.links.offer(request, reply))
  app.get('/w/:token', forReaders, (request, reply) => gateway.links.why(request, reply))
  // Apart, because these read a short body of their own: they come from nobody who has key pairs.
  app.register((scope, _options, done) => {
    scope.removeContentTypeParser('application/json')
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer', bodyLimit: CONVERSION_BYTES_MAX },
      (_, bytes, read) => read(null, bytes),
    )
    scope.post('/v1/conversions', (request, reply) => answerConversion(gateway, request, reply))
    done()
  })
  // Apart, because only there a form may be sent.
  app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: FORM_BYTES_MAX },
      (_, text, read) => read(null, text),
    )
    scope.post('/w/:token/report', forReaders, (request, reply) => {
      gateway.intake.greet(request.ip) // 429
      return gateway.links.report(request, reply)
    })
    done()
  })
}

/** A reader is no program: what is wrong is told on a page. */
function refuseReader(gateway: Gateway) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const refusal = refusalOf(gateway, error, request)
    beginRefusal(refusal, request, reply)
    return sendPage(reply, refusal.status, problemPage(refusal.status))
  }
}

function refusalOf(gateway: Gateway, error: unknown, request: FastifyRequest): ParleyError {
  const refusal = ourErrorOf(error)
  if (refusal.code === 'internal') noteUnexpected(gateway, request.id, error)
  return refusal
}

/** Steps 2 to 3a: the keys, the account and the domain, and whether there is room for it. Nothing of the body is read before. */
function admitWith(gateway: Gateway) {
  const { intake, authenticate } = gateway
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    try {
      intake.greet(request.ip) // 429
    } finally {
      letPagesRead(request, reply)
    }
    request.caller = await authenticate(keysOf(request)).catch((error: unknown) => {
      const refusal = asParleyError(error)
      if (refusal.status === 401) return intake.refuseKeys(request.ip, refusal)
      throw error
    })
    expectAllowed(gateway, request) // 403, 422
    request.admission = intake.admit(request.caller, declaredBytesOf(request.raw)) // 403, 429
    whenClosed(reply.raw, () => {
      if (!request.isCall) request.admission.release()
    })
  }
}
