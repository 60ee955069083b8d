import { UpstreamError } from '../providers/provider.ts'
import type { ChatRequest } from '../rules/calls/chat-request.ts'
import type { CallOutcome } from '../rules/billing/charging.ts'
import type { Message } from '../rules/calls/message.ts'
import type { FinishReason, RecommendationChunk, ReplyChunk } from '../rules/calls/chunk.ts'
import { ParleyError, asParleyError, type ErrorCode } from '../rules/errors.ts'
import { OUTPUT_TOKENS_MAX_UNKNOWN } from '../rules/billing/holds.ts'
import { CALLS_OVERFLOW, READ_ON_MS, TOOL_CALLS_MAX } from '../rules/limits.ts'
import { completionTokensOf, promptTokensOf } from '../rules/billing/usage.ts'
import { answer } from './upstreams/answer.ts'
import { HungUp, ShutDown, type Call } from './call.ts'
import type { Route } from './upstreams/catalogue.ts'
import type { Gateway } from './gateway.ts'
import type { AnswerEnd, Conclusion } from './metering/conclusion.ts'
import { chunksOf, type Replay, type StoredAnswer } from './idempotency.ts'
import { createMeter, type Meter } from './metering/meter.ts'
import { meterPrompt, type MeteredPrompt } from './metering/prompt.ts'
import { upstreamSignalOf } from './upstreams/upstream-signal.ts'
import { replyOf } from './response/wire.ts'
import { holdFor, type Hold } from './hold.ts'

/**
 * The request path, from the checked request to the last byte. Read this file first.
 *
 * What throws before the first chunk becomes an HTTP status; what throws after it becomes an error event. Either way the
 * hold is settled, and also when the caller hangs up. It returns only after the charge is durable, so that a completed
 * answer is always a charged one.
 */
export async function* chatCompletion(gateway: Gateway, call: Call, asked: ChatRequest): AsyncGenerator<ReplyChunk> {
  const { request, history } = gateway.recommendations.strip(call.caller, asked)
  call.progress.cache = await gateway.conversations.check(call, request) // 404, 503
  const route = gateway.catalogue.routeFor(call.caller, request) // 422
  call.progress.model = route.model.id
  refuseIfFull(gateway) // 503
  const prompt = await meterPrompt(gateway, call, request, route.model) // 422
  const replay = await gateway.idempotency.claim(call) // 401, 403, 409, 422, 503
  if (replay) return yield* replayChunks(call, replay)
  const hold = await holdFor(gateway, call, request, route, prompt.tokens) // 401, 403, 429, 503

  // Starts beside the answer and is read after it: a slow matcher delays no chunk. It never rejects.
  const recommendation = gateway.recommendations.begin(call, request, history)
  const bounded = hold.clamp(request)
  const meter = meterFor(gateway, route, bounded, hold, prompt)
  const upstream = upstreamSignalOf(call.signal, () => readOnMsOf(gateway, call, route, meter))
  const reply = replyOf()
  let placed: RecommendationChunk | undefined
  let isPlaced = false
  // Leaving this generator through `return` passes no `catch`: hence the first values.
  let outcome: CallOutcome = 'hung_up'
  let end: AnswerEnd = 'cancelled'
  let failure: ParleyError | undefined
  try {
    call.signal.throwIfAborted()
    let finishReason: FinishReason = 'length'
    let isPaidFor = true
    for await (const chunk of answer(gateway.upstreams, route.deployments, bounded, call, upstream.signal)) {
      if (chunk.type === 'finish') finishReason = chunk.reason
      else if (chunk.type === 'usage') meter.report(chunk.usage, chunk.soFar ?? false)
      else {
        isPaidFor = await meter.admit(chunk)
        if (!isPaidFor) break
        if (chunk.type === 'tool_call' && chunk.index >= TOOL_CALLS_MAX) continue
        call.facts.firstTokenMs ??= Math.round(performance.now() - call.startedMs)
        reply.add(chunk)
        yield chunk
        isPaidFor = await meter.hasRoom()
        if (!isPaidFor) break
      }
    }
    end = isPaidFor ? 'whole' : 'used up'
    if (isGone(call)) return // The answer was read on only to know what it came to.
    outcome = isPaidFor ? 'completed' : 'hold_used_up'
    call.facts.finishReason = finishReason
    placed = await recommendation.conclude(reply.message(), finishReason)
    if (placed) yield placed
    isPlaced = true
    yield { type: 'finish', reason: finishReason }
    yield { type: 'usage', usage: (await meter.conclude(end)).usage }
  } catch (error) {
    end = endOf(error, call)
    outcome = isGone(call) ? 'hung_up' : callOutcomeOf(error)
    if (isGone(call)) throw call.signal.reason
    failure = failureOf(error)
    call.facts.errorCode = failure.code
    throw failure
  } finally {
    upstream.release()
    const used = isWorkedOn(call, meter, outcome) ? await meter.conclude(end) : undefined
    if (used) note(used, end, { gateway, call, request, route, prompt })
    const isAnswered = outcome === 'completed' || outcome === 'hold_used_up'
    const stored = isAnswered && used ? storedAnswerOf(call, reply.message(), placed, used) : undefined
    const result = gateway.idempotency.seal(call, stored)
    const settled = hold.settle({ outcome, used, held: hold.amount }, failure?.status, result)
    // Also when the charge could not be written: the recommendation was already sent.
    await settled.finally(() => recommendation.end(isPlaced && !call.signal.aborted))
    gateway.conversations.record(call, request, isAnswered ? reply.message() : undefined)
  }
}

function refuseIfFull({ running, callsMax }: Gateway): void {
  if (running.size > callsMax * CALLS_OVERFLOW) throw new ParleyError('overloaded', { retryAfterSeconds: 1 })
}

function* replayChunks(call: Call, { callId, answer: stored }: Replay): Generator<ReplyChunk> {
  call.progress.replayed = { callId, created: stored.created }
  yield* chunksOf(stored)
}

function meterFor(
  { statistics }: Gateway,
  { price, model }: Route,
  bounded: ChatRequest,
  hold: Hold,
  prompt: MeteredPrompt,
): Meter {
  const reasoning = statistics.hiddenTokens(model, bounded)
  const isHiding = reasoning > 0
  const { max_tokens: told } = bounded
  return createMeter({
    prompt,
    price,
    figures: isHiding ? { ...model.figures, reasoning } : model.figures,
    outputMax: told ?? model.maxOutputTokens ?? OUTPUT_TOKENS_MAX_UNKNOWN,
    isTold: told !== undefined,
    // All that a model may think unseen was held from the start.
    isBounded: told !== undefined || isHiding,
    isHiding,
    ratioOf: (script) => statistics.tokenRatio(model, script, 'usual'),
    held: () => hold.amount,
    extend: () => hold.extend(),
  })
}

/** How long the answer of a caller that is gone is read on. */
function readOnMsOf({ statistics }: Gateway, { facts, progress }: Call, { model }: Route, meter: Meter): number {
  if (facts.deploymentId === undefined) return 0
  if (meter.isInTheDark || statistics.noteLeaving(model)) return READ_ON_MS.unknown
  // What the provider wrote while the caller did not read waits in the buffers on the way.
  return progress.isStalled ? READ_ON_MS.stalled : 0
}

/** Whether a provider has done anything that somebody must pay for. */
function isWorkedOn({ facts }: Call, meter: Meter, outcome: CallOutcome): boolean {
  if (outcome === 'completed' || meter.isStarted) return true
  return outcome === 'hung_up' && facts.deploymentId !== undefined
}

interface Noted {
  gateway: Gateway
  call: Call
  request: ChatRequest
  route: Route
  prompt: MeteredPrompt
}

/** Keeps what was odd, and learns from what was not. */
function note(used: Conclusion, end: AnswerEnd, noted: Noted): void {
  const { gateway, call, request, prompt } = noted
  const { model } = noted.route
  call.facts.anomalies = used.anomalies
  call.facts.reported = used.reported
  if (end !== 'whole') return
  const isTrue = used.source === 'reported' && used.anomalies.length === 0
  gateway.statistics.add(model, {
    completionTokens: completionTokensOf(used.usage),
    // Of a call that asked for it, that says nothing of the others.
    hasHidden: used.hasHidden && (request.reasoning_effort ?? 'none') === 'none' && !request.prediction,
    tokenRatio: isTrue ? prompt.ratioTo(promptTokensOf(used.usage)) : undefined,
  })
}

function storedAnswerOf(
  call: Call,
  message: Message,
  recommendation: RecommendationChunk | undefined,
  { usage }: Conclusion,
): StoredAnswer {
  const created = Math.floor(call.createdAt.getTime() / 1000)
  const finishReason = call.facts.finishReason ?? 'stop'
  return { message, recommendation, finishReason, usage, created }
}

function isGone({ signal }: Call): boolean {
  return signal.reason instanceof HungUp
}

/** A caller that does not read on makes its provider give up; one that hangs up ends its call itself. */
function isCallersDoing(error: unknown): boolean {
  return error instanceof HungUp || (error instanceof UpstreamError && error.kind === 'reader_stalled')
}

function endOf(error: unknown, call: Call): AnswerEnd {
  if (isCallersDoing(error)) return 'cancelled'
  // Read on for a caller that is gone, as far as it is known to have credit.
  return isGone(call) && error instanceof ParleyError ? 'used up' : 'cut'
}

/** No provider could be asked. */
const PROVIDERS_OWN: ReadonlySet<string> = new Set(['upstream_failed', 'provider_rate_limited'])

function callOutcomeOf(error: unknown): CallOutcome {
  if (isCallersDoing(error)) return 'hung_up'
  if (error instanceof ParleyError && PROVIDERS_OWN.has(error.code)) return 'upstream_failed'
  if (!(error instanceof UpstreamError)) return 'gateway_failed'
  if (error.kind === 'truncated') return 'truncated'
  return error.kind.endsWith('_timeout') ? 'timed_out' : 'upstream_failed'
}

function codeOf({ kind, retryAfterSeconds }: UpstreamError): ErrorCode {
  if (kind === 'reader_stalled') return 'read_too_slowly'
  // A wait is known only where nothing but limits stood in the way.
  return kind === 'rate_limited' && retryAfterSeconds !== undefined ? 'provider_rate_limited' : 'upstream_failed'
}

function failureOf(error: unknown): ParleyError {
  if (error instanceof UpstreamError) {
    const { kind, status: upstreamStatus, retryAfterSeconds } = error
    return new ParleyError(codeOf(error), { retryAfterSeconds, details: { kind, upstreamStatus } })
  }
  if (error instanceof ShutDown) return new ParleyError('shutting_down', { retryAfterSeconds: 1 })
  return asParleyError(error)
}
