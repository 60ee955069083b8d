import { UpstreamError } from '../providers/provider.ts'
import { parseChatRequest } from '../rules/chat-request.ts'
import type { Outcome } from '../rules/charging.ts'
import type { Chunk, FinishReason } from '../rules/chunk.ts'
import { ParleyError, asParleyError } from '../rules/errors.ts'
import { countPromptTokens } from '../rules/tokens.ts'
import { answer } from './answer.ts'
import { HungUp, ShutDown, type Call } from './call.ts'
import type { Gateway } from './gateway.ts'
import { chunksOf } from './idempotency.ts'
import { createMeter } from './meter.ts'
import { replyOf } from './wire.ts'
import { holdFor } from './wallet.ts'

/**
 * The request path, from the accepted keys to the last byte. Read this file first.
 *
 * What throws before the first chunk becomes an HTTP status; what throws after it becomes an error event. Either way the
 * hold is settled, and also when the caller hangs up, which ends this generator wherever it stands. It returns only
 * after the charge is durable, so that a completed answer is always a charged one.
 */
export async function* chatCompletion(gateway: Gateway, call: Call): AsyncGenerator<Chunk> {
  const request = parseChatRequest(call.body) // 400, 422
  await gateway.conversations.check(call.caller, call.conversationId) // 404, 503
  const route = gateway.catalogue.routeFor(call.caller, request) // 422
  call.facts.model = route.model.id
  call.facts.streamed = request.stream
  if (gateway.running.size > gateway.callsMax) throw new ParleyError('overloaded', { retryAfterSeconds: 1 })
  const replay = await gateway.idempotency.claim(call) // 409, 422, 503
  if (replay) {
    call.facts.replayed = { callId: replay.callId, created: replay.answer.created }
    yield* chunksOf(replay.answer)
    return
  }
  const promptTokens = countPromptTokens(request)
  const hold = await holdFor(gateway, call, request, route, promptTokens) // 401, 403, 429, 503

  const bounded = hold.clamp(request)
  const meter = createMeter({
    promptTokens,
    price: route.price,
    outputMax: bounded.max_tokens ?? route.model.maxOutputTokens ?? OUTPUT_MAX_UNKNOWN,
    isBounded: bounded.max_tokens !== undefined,
    held: () => hold.amount,
    extend: () => hold.extend(),
  })
  const reply = replyOf()
  const storedAnswer = () =>
    gateway.idempotency.seal(call, {
      message: reply.message(),
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
    await hold.settle(meter.ending(outcome), status, isAnswered ? storedAnswer() : undefined)
    gateway.conversations.record(call, request, isAnswered ? reply.message() : undefined)
  }
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
