import fastify, { type ConnectionError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { JsonError, parseJson } from '../platform/json.ts'
import { errorFields, framesOf } from '../platform/log.ts'
import { uuidv7 } from '../platform/uuid.ts'
import { parseChatRequest } from '../rules/calls/chat-request.ts'
import { asParleyError, ParleyError, type ErrorCode } from '../rules/errors.ts'
import { BODY_BYTES_MAX, CLIENT_LIMITS, CLIENT_LINGER_MS, JSON_DEPTH_MAX, JSON_KEYS_MAX } from '../rules/limits.ts'
import type { Caller } from './authenticate.ts'
import { completionIdOf } from '../rules/billing/receipts.ts'
import { HungUp, type Call } from './call.ts'
import { chatCompletion } from './chat-completions.ts'
import type { Gateway } from './gateway.ts'
import { answerModels } from './models.ts'
import { answerReceipt } from './receipts.ts'
import { observeCall, observeRequest } from './observe.ts'
import { respondWithEvents, respondWithJson, sendError } from './response/respond.ts'
import { errorBodyOf, type ErrorFormat } from './response/wire.ts'

/** The public HTTP surface: completions, models, receipts, and how everything else is refused. */

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    startedMs: number
    errorCode: string | undefined
  }
}

/** What a known path answers to, for telling 405 from 404. */
function methodsOf(path: string): string | undefined {
  if (path === '/v1/chat/completions') return 'POST'
  return path === '/v1/models' || /^\/(?:v1\/receipts|r|w)\/[^/]+$/.test(path) ? 'GET, HEAD' : undefined
}

export interface ServerOptions {
  heartbeatMs?: number
}

export function createServer(gateway: Gateway, options: ServerOptions = {}): FastifyInstance {
  const app = fastify({
    bodyLimit: BODY_BYTES_MAX,
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
  app.decorateRequest('startedMs', 0)
  app.decorateRequest('errorCode', undefined)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

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

  const authenticated = {
    async onRequest(request: FastifyRequest) {
      request.caller = await gateway.authenticate({
        publishable: headerOf(request, 'x-publishable-key'),
        secret: headerOf(request, 'x-secret-key'),
      })
    },
  }
  // An expectation that we do not know is no reason to refuse a request that we do.
  app.server.on('checkExpectation', (req, res) => app.routing(req, res))
  app.get('/v1/models', authenticated, (request, reply) => answerModels(gateway, request, reply))
  app.get('/v1/receipts/:id', authenticated, (request, reply) => answerReceipt(gateway.db, request, reply))
  app.post('/v1/chat/completions', authenticated, (request, reply) =>
    answerCompletion(gateway, options, request, reply),
  )
  app.get('/r/:token', (request, reply) => gateway.links.offer(request, reply))
  app.get('/w/:token', (request, reply) => gateway.links.why(request, reply))
  return app
}

/** Of an error that nobody foresaw; what lies deeper is Fastify's. */
const FRAMES_LOGGED = 8

async function answerCompletion(
  gateway: Gateway,
  options: ServerOptions,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const body = bodyOf(request)
  const abort = new AbortController()
  const call: Call = {
    id: uuidv7(),
    requestId: request.id,
    caller: request.caller,
    body,
    conversationId: headerOf(request, 'x-conversation-id'),
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
  res.once('close', () => {
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
  const asked = parseChatRequest(call.body) // 400, 422
  const headOf = () => ({
    id: completionIdOf(call.progress.replayed?.callId ?? call.id),
    created: call.progress.replayed?.created ?? Math.floor(call.createdAt.getTime() / 1000),
    model: asked.model,
    isReplayed: call.progress.replayed !== undefined,
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

function bodyOf(request: FastifyRequest): unknown {
  if (!Buffer.isBuffer(request.body)) throw new ParleyError('not_json_content')
  try {
    return parseJson(request.body, { depthMax: JSON_DEPTH_MAX, keysMax: JSON_KEYS_MAX })
  } catch (error) {
    if (error instanceof JsonError) throw new ParleyError('invalid_request', { message: error.message })
    throw error
  }
}

/** A header that was sent twice arrives joined by a comma, which no key and no conversation id contains. */
function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

function formatOf(request: FastifyRequest): ErrorFormat {
  return request.headers['x-error-format'] === 'openai' ? 'openai' : 'plain'
}

function refuse(error: ParleyError, request: FastifyRequest, reply: FastifyReply) {
  request.errorCode = error.code
  reply.header('x-request-id', request.id)
  if (error.options.allow !== undefined) reply.header('allow', error.options.allow)
  if (error.options.retryAfterSeconds !== undefined) reply.header('retry-after', error.options.retryAfterSeconds)
  return reply.code(error.status).send(errorBodyOf(error, formatOf(request)))
}

/** Fastify's own refusals carry a status; without this mapping a caller's typo would become a 500. */
function ourErrorOf(error: unknown): ParleyError {
  const status = (error as { statusCode?: unknown }).statusCode
  if (error instanceof ParleyError) return error
  if (status === 413)
    return new ParleyError('body_too_large', { message: `The request body is larger than ${BODY_BYTES_MAX} bytes.` })
  if (status === 415) return new ParleyError('not_json_content')
  if (status === 408) return new ParleyError('body_too_slow')
  if (typeof status === 'number' && status >= 400 && status < 500) return new ParleyError('invalid_request')
  return asParleyError(error)
}

/** What is not even HTTP never becomes a request: it is answered on the bare socket. */
function refuseMalformed(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return
  const ours = new ParleyError(CLIENT_ERRORS[error.code] ?? 'malformed')
  const body = JSON.stringify(errorBodyOf(ours, 'plain'))
  const head = [
    `HTTP/1.1 ${ours.status} ${STATUS_CODES[ours.status]}`,
    `x-request-id: ${uuidv7()}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  // Not at once: what the client is still sending would make the system drop our answer before it is read.
  setTimeout(() => socket.destroy(), CLIENT_LINGER_MS).unref()
}

const CLIENT_ERRORS: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'body_too_slow',
}
