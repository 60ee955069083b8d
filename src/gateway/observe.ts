import type { FastifyRequest } from 'fastify'
import { errorFields, framesOf } from '../platform/log.ts'
import { CALL_ENDPOINTS, ROUTES } from '../rules/endpoints.ts'
import type { ParleyError } from '../rules/errors.ts'
import type { Call } from './call.ts'
import type { Gateway } from './gateway.ts'
import { noteRefusedCall, noteRefusedRequest } from './note-refusals.ts'

/** One structured line per request, and its numbers. Fields are listed one by one: nothing of what was said, no key. */

const KNOWN_ENDPOINTS: ReadonlySet<string> = new Set(Object.values(ROUTES).flat())

const ALWAYS = {}

/** Frames below these are Fastify's. */
const FRAMES_LOGGED = 8

/**
 * Logs an error that nobody foresaw. The caller is told nothing of it, so this is the only place where its cause can be
 * found.
 */
export function noteUnexpected({ log }: Pick<Gateway, 'log'>, requestId: string, error: unknown): void {
  const stack = framesOf(error).slice(0, FRAMES_LOGGED).join('\n')
  log.error({ requestId, ...errorFields(error), stack }, 'unexpected')
}

/** A request that ended before it became a call, or that asked for the models. */
export function observeRequest(gateway: Gateway, request: FastifyRequest, status: number): void {
  const { log, metrics, refusalLines } = gateway
  const endpoint = KNOWN_ENDPOINTS.has(request.routeOptions.url ?? '') ? String(request.routeOptions.url) : 'other'
  metrics.requests.inc({ route: endpoint, status })
  const { refusal } = request
  if (refusal) {
    metrics.errors.inc({ code: refusal.code })
    noteRefusedRequest(gateway, request, refusal, endpoint === 'other' ? undefined : endpoint)
  }
  const line = refusal ? refusalLines.next(refusal.code) : ALWAYS
  if (!line) return
  log.info({
    requestId: request.id,
    route: endpoint,
    method: request.method,
    status,
    error: refusal?.code,
    ...refusal?.options.details,
    ...line,
    project: request.caller?.projectId,
    keyPair: request.caller?.keyPairId,
    session: request.caller?.session?.id,
    durationMs: Math.round(performance.now() - request.startedMs),
  })
}

export function observeCall(gateway: Gateway, call: Call, status: number, failure: ParleyError | undefined): void {
  const { log, metrics, refusalLines } = gateway
  const { facts, progress } = call
  const { model = 'none', bill, charged = 0n } = progress
  const route = CALL_ENDPOINTS[call.endpoint].path
  const durationMs = Math.round(performance.now() - call.startedMs)
  metrics.requests.inc({ route, status })
  if (failure) metrics.errors.inc({ code: failure.code })
  metrics.duration.observe({ model }, durationMs / 1000)
  if (facts.firstTokenMs !== undefined) metrics.firstToken.observe({ model }, facts.firstTokenMs / 1000)
  metrics.failovers.inc({ model }, failoversIn(facts.attempts))
  if (call.signal.aborted) metrics.clientAborts.inc({ phase: phaseOf(call) })
  const provider = facts.attempts.at(-1)?.provider ?? 'none'
  if (progress.oddEnding !== undefined) metrics.oddEndings.inc({ provider, model })
  if (bill) {
    metrics.outcomes.inc({ outcome: bill.outcome, model })
    metrics.chargedNanos.inc({ model }, Number(charged))
    metrics.lostNanos.inc({ outcome: bill.outcome }, Number(bill.worth - charged))
    if (bill.usageSource === 'estimated') metrics.usageEstimated.inc({ model })
    for (const kind of facts.anomalies ?? []) metrics.usageAnomalies.inc({ provider, model, kind })
  }
  if (failure && !bill) noteRefusedCall(gateway, call, failure)
  // A call that costs money, or holds it, is always logged.
  const line = failure && !bill ? refusalLines.next(failure.code) : ALWAYS
  if (!line) return
  log.info({
    requestId: call.requestId,
    call: call.id,
    route,
    status,
    error: failure?.code,
    ...failure?.options.details,
    ...line,
    project: call.caller.projectId,
    keyPair: call.caller.keyPairId,
    session: call.caller.session?.id,
    model,
    streamed: facts.streamed,
    replayOf: progress.replayed?.callId,
    outcome: bill?.outcome,
    finishReason: facts.finishReason,
    oddEnding: progress.oddEnding,
    usage: bill?.usage,
    usageSource: bill?.usageSource,
    usageAnomalies: facts.anomalies?.length ? facts.anomalies : undefined,
    heldNanos: bill?.held.toString(),
    chargedNanos: progress.charged?.toString(),
    attempts: facts.attempts,
    firstTokenMs: facts.firstTokenMs,
    durationMs,
  })
}

/** How often a call went on to another deployment; another key of the same one is not counted. */
function failoversIn(attempts: Call['facts']['attempts']): number {
  return attempts.filter(({ deployment }, i) => i > 0 && deployment !== attempts[i - 1]?.deployment).length
}

function phaseOf({ facts }: Call): 'hold' | 'waiting' | 'stream' {
  if (facts.firstTokenMs !== undefined) return 'stream'
  return facts.attempts.length > 0 ? 'waiting' : 'hold'
}
