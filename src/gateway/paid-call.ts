import { UpstreamError } from '../providers/provider.ts'
import type { CallOutcome } from '../rules/billing/charging.ts'
import { OUTPUT_TOKENS_MAX_UNKNOWN } from '../rules/billing/holds.ts'
import { completionTokensOf, promptTokensOf } from '../rules/billing/usage.ts'
import { FAILURES } from '../rules/billing/usage-counts.ts'
import type { Chunk, ContentChunk, FinishReason, RecommendationChunk, ReplyChunk } from '../rules/calls/chunk.ts'
import type { RecommendationOutcome } from '../rules/recommendations/matching.ts'
import { ParleyError, asParleyError, type ErrorCode } from '../rules/errors.ts'
import { CALLS_OVERFLOW, READ_ON_MS, TOOL_CALLS_MAX } from '../rules/limits.ts'
import { HungUp, ShutDown, type Call } from './call.ts'
import type { Gateway } from './gateway.ts'
import { holdFor, type Hold, type HoldTerms } from './hold.ts'
import { chunksOf, type Replay, type StoredAnswer, type StoredReply } from './idempotency.ts'
import type { AnswerEnd, Conclusion } from './metering/conclusion.ts'
import { createMeter, type Meter } from './metering/meter.ts'
import type { MeteredRoute, MeteredRoutes } from './metering/prompt.ts'
import { expectBounded } from './sessions/bounds.ts'
import { isProvidersFailure, type Ask } from './upstreams/answer.ts'
import { beginAnswerOfRoutes } from './upstreams/fallbacks.ts'
import { upstreamSignalOf } from './upstreams/upstream-signal.ts'

/** An endpoint's part in the path: what is asked of whom, and what becomes of the answer. */
export interface CallPlan {
  /** In the order in which they are tried. The first is the model that was asked for. */
  routes: MeteredRoutes
  terms: HoldTerms
  /** How a deployment is asked for an answer that ends where the credit does. */
  ask(maxTokens: number | undefined): Ask
  /** Sees what the caller gets. */
  reply: { add(chunk: ContentChunk): void; stored(): StoredReply }
  /** Why its answer cannot be kept for a retry: what a caller with an Idempotency-Key is told. */
  unstorable?: ParleyError | undefined
  /** Starts when credit is held, beside the answer, and is read after it: a slow matcher delays no chunk. */
  recommend?(): Epilogue
  /** Told in the end, when the charge is written or given up. */
  record?(isWorkedOn: boolean, isAnswered: boolean): void
}

/** The recommendation that may follow a whole answer, before its finish. */
export interface Epilogue {
  /** Never rejects, and ends soon. */
  conclude(finishReason: FinishReason): Promise<RecommendationChunk | undefined>
  /** The outcome, as far as it is known before the call is settled. Undefined: there was never to be one. */
  outcome(isDelivered: boolean, hasFailed: boolean): RecommendationOutcome | undefined
  /** Once, whatever happened: did what was concluded reach the caller, and did our side or the provider break the call? */
  end(isDelivered: boolean, hasFailed: boolean): void
}

/**
 * The part of a call that costs money, whatever it asks for: credit is held, providers are asked, what they answer is metered
 * and passed on, and the call is settled.
 *
 * What throws before the first chunk becomes an HTTP status; what throws after it becomes an error event. Either way the
 * hold is settled, and also when the caller hangs up. It returns only after the charge is durable, so that a completed
 * answer is always a charged one.
 */
export async function* paidCall(gateway: Gateway, call: Call, plan: CallPlan): AsyncGenerator<readonly ReplyChunk[]> {
  expectBounded(call.caller, plan.terms, plan.routes)
  refuseIfFull(gateway) // 503
  let [route] = plan.routes
  const replay = await gateway.idempotency.claim(call, plan.unstorable) // 401, 403, 409, 422, 503
  if (replay) return yield replayChunks(call, replay)
  const hold = await holdFor(gateway, call, plan.terms, plan.routes) // 401, 403, 429, 503
  const recommendation = plan.recommend?.()
  let meter = meterFor(gateway, call, plan, { route, hold })
  const tryRoute = (next: MeteredRoute): Ask => {
    if (next !== route) meter = meterFor(gateway, call, plan, { route: next, hold })
    route = next
    Object.assign(call.progress, { model: next.model.id, hasFallbacks: plan.routes.length > 1 })
    return plan.ask(hold.maxTokensFor(next))
  }
  const upstream = upstreamSignalOf(call.signal, () => readOnMsOf(gateway, call, route, meter))
  let placed: RecommendationChunk | undefined
  let isPlaced = false
  // Leaving this generator through `return` passes no `catch`: hence the first values.
  let outcome: CallOutcome = 'hung_up'
  let end: AnswerEnd = 'cancelled'
  let failure: ParleyError | undefined
  let finishReason: FinishReason | undefined
  try {
    call.signal.throwIfAborted()
    let isPaidFor = true
    const answer = await beginAnswerOfRoutes(gateway.upstreams, plan.routes, tryRoute, call, upstream.signal)
    for await (const chunks of answer) {
      const passed = await passThrough(meter, chunks)
      finishReason = passed.finishReason ?? finishReason
      if (passed.chunks.length > 0) {
        call.facts.firstTokenMs ??= Math.round(performance.now() - call.startedMs)
        for (const chunk of passed.chunks) plan.reply.add(chunk)
        yield passed.chunks
      }
      if ('failure' in passed) throw passed.failure
      isPaidFor = passed.isPaidFor
      if (!isPaidFor) break
    }
    end = isPaidFor ? 'whole' : 'used up'
    if (isGone(call)) return // The answer was read on only to know what it came to.
    outcome = isPaidFor ? 'completed' : 'hold_used_up'
    if (!isPaidFor) finishReason = 'length'
    call.facts.finishReason = finishReason
    placed = finishReason && (await recommendation?.conclude(finishReason))
    if (placed) yield [placed]
    isPlaced = true
    const usage: ReplyChunk = { type: 'usage', usage: (await meter.conclude(end)).usage }
    yield finishReason ? [{ type: 'finish', reason: finishReason }, usage] : [usage]
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
    if (used) note(gateway, call, plan.terms, { route, used, end, finishReason })
    const isAnswered = outcome === 'completed' || outcome === 'hold_used_up'
    const stored = isAnswered && used ? storedAnswerOf(call, plan.reply.stored(), placed, used) : undefined
    const result = gateway.idempotency.seal(call, stored)
    const fate = () => [isPlaced && !call.signal.aborted, FAILURES.has(outcome)] as const
    call.facts.recommendationOutcome = recommendation?.outcome(...fate())
    const settled = hold.settle(route, { outcome, used, held: hold.amount() }, failure?.status, result)
    await settled.finally(() => recommendation?.end(...fate())) // Also when no charge was written: it was sent already.
    plan.record?.(used !== undefined, isAnswered)
  }
}

function refuseIfFull({ running, callsMax }: Gateway): void {
  if (running.size > callsMax * CALLS_OVERFLOW) throw new ParleyError('overloaded', { retryAfterSeconds: 1 })
}

/** The part of a batch of chunks that the caller gets. */
interface Passed {
  chunks: readonly ContentChunk[]
  finishReason: FinishReason | undefined
  /** Otherwise the answer ends here. */
  isPaidFor: boolean
  /** Why nobody can say whether more is paid for. What was passed before is. */
  failure?: unknown
}

async function passThrough(meter: Meter, arrived: readonly Chunk[]): Promise<Passed> {
  const chunks: ContentChunk[] = []
  let finishReason: FinishReason | undefined
  try {
    for (const chunk of arrived) {
      if (chunk.type === 'finish') finishReason = chunk.reason
      else if (chunk.type === 'usage') meter.report(chunk.usage, chunk.soFar ?? false)
      else {
        // Nearly always known at once, and waiting for what is known takes its time, too.
        const isAdmitted = meter.admit(chunk)
        if (isAdmitted !== true && !(await isAdmitted)) return { chunks, finishReason, isPaidFor: false }
        if (chunk.type === 'tool_call' && chunk.index >= TOOL_CALLS_MAX) continue
        chunks.push(chunk)
        const hasRoom = meter.hasRoom()
        if (hasRoom !== true && !(await hasRoom)) return { chunks, finishReason, isPaidFor: false }
      }
    }
    return { chunks, finishReason, isPaidFor: true }
  } catch (failure) {
    return { chunks, finishReason, isPaidFor: false, failure }
  }
}

function replayChunks(call: Call, { callId, answer: stored }: Replay): readonly ReplyChunk[] {
  call.progress.replayed = { callId, created: stored.created }
  call.progress.model = stored.model ?? call.progress.model
  return [...chunksOf(stored)]
}

function meterFor(
  { statistics }: Gateway,
  { caller: { publisherId } }: Call,
  { terms }: CallPlan,
  { route, hold }: { route: MeteredRoute; hold: Hold },
): Meter {
  const { model, price, prompt } = route
  const reasoning = statistics.hiddenTokens(model, publisherId, terms)
  const isHiding = reasoning > 0
  const told = hold.maxTokensFor(route)
  return createMeter({
    prompt,
    price,
    figures: isHiding ? { ...model.figures, reasoning } : model.figures,
    outputMax: told ?? model.maxOutputTokens ?? OUTPUT_TOKENS_MAX_UNKNOWN,
    isTold: told !== undefined,
    // Google's format says nothing of what vectors come to.
    isReportDue: model.kind === 'chat',
    // All that a model may think unseen was held from the start.
    isBounded: told !== undefined || isHiding,
    isHiding,
    ratioOf: (script) => statistics.tokenRatio(model, publisherId, script, 'usual'),
    held: () => hold.amount(),
    extend: () => hold.extend(route),
  })
}

/** How long the answer of a caller that is gone is read on. */
function readOnMsOf({ statistics }: Gateway, call: Call, { model }: MeteredRoute, meter: Meter): number {
  const { facts, progress, caller } = call
  if (facts.deploymentId === undefined) return 0
  if (meter.isInTheDark() || statistics.noteLeaving(model, caller.publisherId)) return READ_ON_MS.unknown
  // Output that the provider wrote while the caller did not read waits in the buffers on the way.
  return progress.isStalled ? READ_ON_MS.stalled : 0
}

/** Whether a provider has done anything that somebody must pay for. */
function isWorkedOn({ facts }: Call, meter: Meter, outcome: CallOutcome): boolean {
  if (outcome === 'completed' || meter.isStarted()) return true
  return outcome === 'hung_up' && facts.deploymentId !== undefined
}

interface Answered {
  route: MeteredRoute
  used: Conclusion
  end: AnswerEnd
  finishReason: FinishReason | undefined
}

/** Keeps what was odd, and learns from what was not. */
function note({ statistics }: Gateway, call: Call, terms: HoldTerms, answered: Answered): void {
  const { facts, caller } = call
  const { route, used, end } = answered
  facts.anomalies = used.anomalies
  facts.reported = used.reported
  if (end !== 'whole') return
  const isTrue = used.source === 'reported' && used.anomalies.length === 0
  statistics.add(route.model, caller.publisherId, {
    completionTokens: completionTokensOf(used.usage),
    hasHidden: hasHiddenUnasked(call, terms, answered),
    tokenRatio: isTrue ? route.prompt.ratioTo(promptTokensOf(used.usage)) : undefined,
  })
}

/**
 * An answer says how much its model thinks by itself only if it was shown as it was written: a filter, an odd end and a `stop` of the
 * caller's withhold text that is counted. Nor does one that was asked to think, or not to, or that had a prediction.
 */
function hasHiddenUnasked({ progress }: Call, terms: HoldTerms, { used, finishReason }: Answered): boolean | undefined {
  const isShown = finishReason === 'length' || (finishReason === 'stop' && terms.stop === undefined)
  if (!isShown || progress.oddEnding !== undefined || terms.prediction) return undefined
  if (terms.reasoning_effort === undefined) return used.hasHidden
  // It thought although it was asked not to.
  return terms.reasoning_effort === 'none' && used.hasHidden ? true : undefined
}

function storedAnswerOf(
  call: Call,
  reply: StoredReply,
  recommendation: RecommendationChunk | undefined,
  { usage }: Conclusion,
): StoredAnswer {
  const created = Math.floor(call.createdAt.getTime() / 1000)
  const { finishReason } = call.facts
  return { ...reply, model: call.progress.model, recommendation, finishReason, usage, created }
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

function callOutcomeOf(error: unknown): CallOutcome {
  if (isCallersDoing(error)) return 'hung_up'
  if (!isProvidersFailure(error)) return 'gateway_failed'
  if (!(error instanceof UpstreamError)) return 'upstream_failed'
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
