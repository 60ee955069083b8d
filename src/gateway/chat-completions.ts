import { UpstreamError } from '../providers/provider.ts'
import { parseChatRequest, type ChatRequest } from '../rules/chat-request.ts'
import type { Outcome } from '../rules/charging.ts'
import type { FinishReason, RecommendationChunk, ReplyChunk } from '../rules/chunk.ts'
import { ParleyError, asParleyError } from '../rules/errors.ts'
import { countPromptTokens } from '../rules/tokens.ts'
import { answer } from './answer.ts'
import { HungUp, ShutDown, type Call } from './call.ts'
import type { ModelRoute } from './catalogue.ts'
import type { Gateway } from './gateway.ts'
import { chunksOf, type Replay } from './idempotency.ts'
import { createMeter, type Meter } from './meter.ts'
import { replyOf } from './wire.ts'
import { holdFor, type Hold } from './wallet.ts'

/**
 * The request path, from the accepted keys to the last byte. Read this file first.
 *
 * What throws before the first chunk becomes an HTTP status; what throws after it becomes an error event. Either way the
 * hold is settled, and also when the caller hangs up, which ends this generator wherever it stands. It returns only
 * after the charge is durable, so that a completed answer is always a charged one.
 */
export async function* chatCompletion(gateway: Gateway, call: Call): AsyncGenerator<ReplyChunk> {
  const { request, history } = gateway.recommendations.strip(parseChatRequest(call.body)) // 400, 422
  await gateway.conversations.check(call.caller, call.conversationId) // 404, 503
  const route = gateway.catalogue.routeFor(call.caller, request) // 422
  call.facts.model = route.model.id
  call.facts.streamed = request.stream
  if (gateway.running.size > gateway.callsMax) throw new ParleyError('overloaded', { retryAfterSeconds: 1 })
  const replay = await gateway.idempotency.claim(call) // 409, 422, 503
  if (replay) return yield* replayed(call, replay)
  const promptTokens = countPromptTokens(request)
  const hold = await holdFor(gateway, call, request, route, promptTokens) // 401, 403, 429, 503

  // Starts beside the answer and is read after it: a slow matcher delays no piece. It never rejects.
  const recommendation = gateway.recommendations.begin(call, request, history)

  const bounded = hold.clamp(request)
  const meter = meterFor(route, bounded, hold, promptTokens)
  const reply = replyOf()
  let placed: RecommendationChunk | undefined
  let isPlaced = false
  const storedAnswer = () =>
    gateway.idempotency.seal(call, {
      message: reply.message(),
      recommendation: placed,
      finishReason: call.facts.finishReason ?? 'stop',
      usage: meter.usage(),
      created: Math.floor(call.createdAt.getTime() / 1000),
    })
  // Leaving this generator through `return`, as a caller that hangs up does, passes no `catch`: hence the first value.
  let outcome: Outcome = 'hung_up'
  let status = 200
  try {
    call.signal.throwIfAborted()
    let finishReason: FinishReason = 'length'
    let isPaidFor = true
    for await (const chunk of answer(gateway.upstreams, route.routes, bounded, call)) {
      if (chunk.type === 'finish') finishReason = chunk.reason
      else if (chunk.type === 'usage') meter.report(chunk.usage)
      else {
        isPaidFor = await meter.admit(chunk)
        if (!isPaidFor) break
        call.facts.firstTokenMs ??= Math.round(performance.now() - call.startedMs)
        reply.add(chunk)
        yield chunk
      }
    }
    outcome = isPaidFor ? 'completed' : 'hold_used_up'
    call.facts.finishReason = finishReason
    placed = await recommendation.conclude(reply.message(), finishReason)
    if (placed) yield placed
    isPlaced = true
    yield { type: 'finish', reason: finishReason }
    yield { type: 'usage', usage: meter.usage() }
  } catch (error) {
    outcome = outcomeOf(error)
    if (error instanceof HungUp) throw error
    const failure = failureOf(error)
    status = failure.status
    call.facts.errorCode = failure.code
    throw failure
  } finally {
    call.facts.isUsageAnomalous = meter.isAnomalous
    const isAnswered = outcome === 'completed' || outcome === 'hold_used_up'
    const settled = hold.settle(meter.ending(outcome), status, isAnswered ? storedAnswer() : undefined)
    // Also when the charge could not be written: the link was already sent, and must lead somewhere.
    await settled.finally(() => recommendation.end(isPlaced && !call.signal.aborted))
    gateway.conversations.record(call, request, isAnswered ? reply.message() : undefined)
  }
}

function* replayed(call: Call, { callId, answer: stored }: Replay): Generator<ReplyChunk> {
  call.facts.replayed = { callId, created: stored.created }
  yield* chunksOf(stored)
}

function meterFor({ price, model }: ModelRoute, bounded: ChatRequest, hold: Hold, promptTokens: number): Meter {
  return createMeter({
    promptTokens,
    price,
    outputMax: bounded.max_tokens ?? model.maxOutputTokens ?? OUTPUT_MAX_UNKNOWN,
    isBounded: bounded.max_tokens !== undefined,
    held: () => hold.amount,
    extend: () => hold.extend(),
  })
}

/** What a model of unknown length may plausibly report. */
const OUTPUT_MAX_UNKNOWN = 128_000

function outcomeOf(error: unknown): Outcome {
  if (error instanceof HungUp) return 'hung_up'
  if (error instanceof ParleyError && error.code === 'upstream_failed') return 'upstream_failed'
  if (!(error instanceof UpstreamError)) return 'gateway_failed'
  if (error.kind === 'truncated') return 'truncated'
  return error.kind.endsWith('_timeout') ? 'timed_out' : 'upstream_failed'
}

function failureOf(error: unknown): ParleyError {
  if (error instanceof UpstreamError) {
    const { kind, status: upstreamStatus, retryAfterSeconds } = error
    return new ParleyError('upstream_failed', { retryAfterSeconds, details: { kind, upstreamStatus } })
  }
  if (error instanceof ShutDown) return new ParleyError('shutting_down', { retryAfterSeconds: 1 })
  return asParleyError(error)
}
