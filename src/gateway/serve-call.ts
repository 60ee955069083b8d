import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ServerResponse } from 'node:http'
import { withoutStacks } from '../platform/stacks.ts'
import { createTurns } from '../platform/turns.ts'
import { uuidv7 } from '../platform/uuid.ts'
import { rateHeadersOf } from '../rules/billing/limits.ts'
import { completionIdOf } from '../rules/billing/receipts.ts'
import { endUserIdOf, endUserLabelOf } from '../rules/calls/end-users.ts'
import { asParleyError, ParleyError } from '../rules/errors.ts'
import { HungUp, type Call } from './call.ts'
import type { CallEndpoint } from './endpoint.ts'
import type { Gateway } from './gateway.ts'
import { formatOf, headerOf } from './headers.ts'
import { noteUnexpected, observeCall } from './observe.ts'
import { readJson } from './intake/read-json.ts'
import { respondWithEvents, respondWithJson, sendError } from './response/respond.ts'
import { whenClosed } from './response/when-closed.ts'

/** A call over HTTP, whichever endpoint it is for: its body is read, it is answered on the socket, and it is told of. */

export interface ServeOptions {
  heartbeatMs?: number
}

const HANG_UPS_PER_ROUND = 32
/** A load balancer that goes away takes thousands of callers with it in the same moment. The others do not wait for all of them. */
const nextHangUp = createTurns(HANG_UPS_PER_ROUND)

export async function serveCall(
  gateway: Gateway,
  endpoint: CallEndpoint,
  options: ServeOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  // From here on its place and memory are given back when nothing of it is left, however early its caller hangs up.
  request.isCall = true
  try {
    const sent = await readJson(gateway, request, reply, endpoint.jsonLimits) // 400, 403, 408, 413, 415, 429, 503
    const call = callOf(endpoint, request, sent)
    await answerCall(gateway, endpoint, options, call, request, reply)
  } finally {
    request.admission.release()
  }
}

/** A call, and the means to cut it off. */
type OpenCall = Call & { readonly abort: AbortController }

function callOf(
  { name, isStandalone }: CallEndpoint,
  request: FastifyRequest,
  sent: Pick<Call, 'body' | 'bodyBytes'>,
): OpenCall {
  const abort = new AbortController()
  return {
    id: uuidv7(),
    endpoint: name,
    requestId: request.id,
    caller: request.caller,
    address: request.ip,
    ...sent,
    conversationId: isStandalone ? undefined : headerOf(request, 'x-conversation-id'),
    endUser: endUserOf(request, sent.body),
    idempotencyKey: headerOf(request, 'idempotency-key'),
    monetizationHeader: headerOf(request, 'x-monetization'),
    createdAt: new Date(),
    startedMs: request.startedMs,
    reserve: (bytes) => request.admission.reserve(bytes),
    abort,
    signal: abort.signal,
    facts: { streamed: false, attempts: [] },
    progress: {},
  }
}

async function answerCall(
  gateway: Gateway,
  endpoint: CallEndpoint,
  options: ServeOptions,
  call: OpenCall,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const res = takeOver(reply, call)
  // Not the request's `close`, which comes as soon as its body has been read.
  whenClosed(res, () => {
    if (res.writableFinished || call.idempotencyKey !== undefined) return
    void nextHangUp().then(() => withoutStacks(() => call.abort.abort(new HungUp('caller closed the connection'))))
  })
  gateway.running.set(call.id, call.abort)
  gateway.metrics.callsRunning.set(gateway.running.size)
  let failure: ParleyError | undefined
  try {
    await respond(gateway, endpoint, options, call, request, res)
  } catch (error) {
    if (!(error instanceof HungUp)) {
      failure = asParleyError(error)
      if (failure.code === 'internal') noteUnexpected(gateway, call.requestId, error)
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
  reply.header('x-completion-id', completionIdOf(call.id, call.endpoint))
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value)
  return reply.raw
}

async function respond(
  gateway: Gateway,
  endpoint: CallEndpoint,
  options: ServeOptions,
  call: Call,
  request: FastifyRequest,
  res: ServerResponse,
): Promise<void> {
  const { model, chunks, eventsOf, body } = endpoint.begin(gateway, call) // 400, 422
  const headOf = () => ({
    id: completionIdOf(call.progress.replayed?.callId ?? call.id, endpoint.name),
    created: call.progress.replayed?.created ?? Math.floor(call.createdAt.getTime() / 1000),
    model: call.progress.model ?? model,
    isReplayed: call.progress.replayed !== undefined,
    headers: rateHeadersOf(call.progress.rates, new Date()),
  })
  call.facts.streamed = eventsOf !== undefined
  const onSlowReader = () => gateway.metrics.slowReaders.inc()
  if (!eventsOf) return respondWithJson(res, chunks, headOf, body, { onSlowReader })
  return respondWithEvents(res, chunks, headOf, eventsOf, {
    format: formatOf(request),
    heartbeatMs: options.heartbeatMs,
    onStall: (isStalled) => void (call.progress.isStalled = isStalled),
    onSlowReader,
  })
}

function endUserOf(request: FastifyRequest, body: unknown): Call['endUser'] {
  const id = endUserIdOf(headerOf(request, 'x-end-user-id'), body)
  return id === undefined ? undefined : { id, label: endUserLabelOf(headerOf(request, 'x-end-user-label')) }
}
