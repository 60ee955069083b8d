import { setTimeout as sleep } from 'node:timers/promises'
import { UpstreamError, type UpstreamCall, type UpstreamErrorKind } from '../../providers/provider.ts'
import type { ReasoningEffort } from '../../rules/calls/chat-request.ts'
import type { Chunk } from '../../rules/calls/chunk.ts'
import { timersFor } from '../../rules/calls/reasoning.ts'
import { ParleyError } from '../../rules/errors.ts'
import { isSilenceAskedFor } from '../../rules/upstreams/blame.ts'
import { HungUp, type Call } from '../call.ts'
import type { OpenDeployment } from './catalogue.ts'
import type { Admission, Refusal, Upstreams } from './upstreams.ts'

/** Failures that a second try at the very same deployment may cure. No timeouts: the caller has waited for one already. */
const WORTH_REPEATING: ReadonlySet<UpstreamErrorKind> = new Set(['refused', 'reset', 'server_error', 'model_failed'])
/** Failures that another key of the same provider may cure. */
const WORTH_ANOTHER_KEY: ReadonlySet<UpstreamErrorKind> = new Set(['rate_limited', 'key_rejected'])
const TRIES_PER_DEPLOYMENT_MAX = 3
const RETRY_AFTER_SECONDS_MAX = 60

/** How a call asks a deployment, in the words of its endpoint. */
export interface Ask {
  /** How much the model is to think, and so how long it may be silent. */
  readonly effort?: ReasoningEffort | undefined
  /** Whether the call has no other model to ask. Left out: it has none. */
  readonly isLastRoute?: boolean
  stream(deployment: OpenDeployment, upstream: Omit<UpstreamCall, 'request'>, signal: AbortSignal): Chunks
}

/** An answer as it comes: what arrived together, together. */
export type Chunks = AsyncIterable<readonly Chunk[]>

/** The results of the tries at one call. */
interface Tried {
  readonly failures: UpstreamError[]
  readonly refusals: Refusal[]
  /** An answer that a model wrote and nobody can use. */
  useless: { of: OpenDeployment; chunks: readonly Chunk[] } | undefined
}

/**
 * The answer of the first deployment that gives one, when it has begun. Another one is asked only before that: afterwards the
 * caller has seen part of an answer, and a second one must not be glued to it.
 *
 * What a model wrote and nobody can use is the answer when there is no better one: its provider bills it, and whoever asks
 * can provoke it.
 */
export async function beginAnswer(
  upstreams: Upstreams,
  deployments: readonly OpenDeployment[],
  ask: Ask,
  call: Call,
  signal: AbortSignal,
): Promise<Chunks> {
  const tried: Tried = { failures: [], refusals: [], useless: undefined }
  try {
    const begun = await tryInOrder(upstreams, deployments, ask, call, signal, tried)
    if (begun) return begun
  } catch (error) {
    // A caller that hangs up before anything better has begun has caused this one, and pays for it.
    if (!tried.useless || !(call.signal.reason instanceof HungUp)) throw error
  }
  if (!tried.useless) throw failureOfAll(tried)
  call.facts.deploymentId = tried.useless.of.id
  noteEnding(tried.useless.chunks, call)
  return yieldOnce(tried.useless.chunks)
}

async function* yieldOnce(chunks: readonly Chunk[]): AsyncGenerator<readonly Chunk[]> {
  yield chunks
}

/** Undefined: there is no answer. */
async function tryInOrder(
  upstreams: Upstreams,
  deployments: readonly OpenDeployment[],
  ask: Ask,
  call: Call,
  signal: AbortSignal,
  tried: Tried,
): Promise<Chunks | undefined> {
  const isOnly = deployments.length === 1 && (ask.isLastRoute ?? true)
  const caller = { publisherId: call.caller.publisherId, conversation: call.progress.cache?.key }
  for (const deployment of upstreams.inOrder(deployments, caller.conversation)) {
    const spentKeys = new Set<string>()
    let mayRepeat = isOnly
    for (let tries = 0; tries < TRIES_PER_DEPLOYMENT_MAX; tries++) {
      const admission = upstreams.admit(deployment, caller, isOnly, spentKeys)
      if ('why' in admission) {
        tried.refusals.push(admission)
        break
      }
      const isSecond = tried.useless !== undefined
      const begun = await attempt(deployment, admission, ask, call, signal, tried)
      if (!(begun instanceof UpstreamError)) return begun
      tried.failures.push(begun)
      // A model that was of no use is billed each time, and one answer is paid.
      if (isSecond) return undefined
      if (WORTH_ANOTHER_KEY.has(begun.kind)) {
        spentKeys.add(admission.key.id)
        continue
      }
      const isWorthwhile = isOnly ? mayRepeat && WORTH_REPEATING.has(begun.kind) : begun.answerAsIs !== undefined
      if (!isWorthwhile) break
      const waitMs = upstreams.repeatAfterMs()
      if (waitMs === undefined) return undefined
      if (!isOnly) break
      mayRepeat = false
      // Ends with the reason of the abort, as a stream does, and not with the timer's own error: a caller that hung up
      // would be taken for a failure of ours.
      await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
  return undefined
}

/** Resolves to why there was no first chunk, or to the answer that has begun. */
async function attempt(
  deployment: OpenDeployment,
  admission: Admission,
  ask: Ask,
  call: Call,
  signal: AbortSignal,
  tried: Tried,
): Promise<Chunks | UpstreamError> {
  const record = startRecord(call, deployment, admission)
  const { upstreamModel, unsupportedFields, extraBody } = deployment
  const { endUserId: endUser, cache } = call.progress
  const onSent = () => void (call.facts.deploymentId = deployment.id)
  const asked = { upstreamModel, unsupportedFields, extraBody, endUser, cache }
  const timers = timersFor(deployment.timers, ask.effort)
  const upstreamCall = { ...asked, apiKey: admission.key.secret, timers, onSent }
  try {
    const chunks = ask.stream(deployment, upstreamCall, signal)[Symbol.asyncIterator]()
    const first = await chunks.next()
    admission.began()
    onSent()
    record.end(undefined)
    return passOn(first, chunks, { admission, record, call })
  } catch (error) {
    if (!(error instanceof UpstreamError)) {
      // The caller has hung up, or the fault is our own.
      admission.ended('left')
      throw error
    }
    const isCallersDoing = error.kind === 'reader_stalled' || isSilenceAskedFor(error.kind, ask.effort)
    admission.ended(isCallersDoing ? 'left' : error)
    record.end(error.kind)
    if (error.answerAsIs) tried.useless = { of: deployment, chunks: error.answerAsIs }
    // Its caller is gone and nobody waits for another one. A provider that was only slow has the prompt all the same.
    const isReadOn = call.signal.aborted
    if (!isReadOn || !error.kind.endsWith('_timeout')) call.facts.deploymentId = undefined
    if (isReadOn) throw error
    return error
  }
}

interface Attempt {
  admission: Admission
  record: ReturnType<typeof startRecord>
  call: Call
}

/** The rest of an answer that has begun. Leaving it early cancels the upstream call. */
async function* passOn(
  first: IteratorResult<readonly Chunk[]>,
  rest: AsyncIterator<readonly Chunk[]>,
  { admission, record, call }: Attempt,
): AsyncGenerator<readonly Chunk[]> {
  try {
    for (let next = first; !next.done; next = await rest.next()) {
      noteEnding(next.value, call)
      yield next.value
    }
    admission.ended('complete')
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    // A provider that still writes has not failed: the answer is longer than there is time for.
    if (error.kind === 'total_timeout') return yield [{ type: 'finish', reason: 'length' }]
    admission.ended(error.kind === 'reader_stalled' ? 'left' : error)
    record.end(error.kind)
    throw error
  } finally {
    admission.ended('left')
    await rest.return?.()
  }
}

function noteEnding(chunks: readonly Chunk[], { progress }: Call): void {
  for (const chunk of chunks) if (chunk.type === 'finish') progress.oddEnding = chunk.odd
}

/** Whether that is why there is no answer: they failed, or none could be asked. */
export function isProvidersFailure(error: unknown): boolean {
  return error instanceof UpstreamError || (error instanceof ParleyError && NONE_ASKED.has(error.code))
}

const NONE_ASKED: ReadonlySet<string> = new Set(['upstream_failed', 'provider_rate_limited'])

/** The error for a caller that gets no answer: the last provider's failure, and when it is worth while to retry. */
function failureOfAll({ failures, refusals }: Tried): Error {
  const last = failures.at(-1)
  const retryAfterSeconds = secondsUntilWorthwhile(failures, refusals)
  if (last) return new UpstreamError(last.kind, { status: last.status, retryAfterSeconds })
  const isBusy = refusals.some(({ why }) => why === 'busy')
  if (isBusy)
    return new ParleyError('provider_rate_limited', { retryAfterSeconds, details: { kind: 'providers_busy' } })
  return new ParleyError('upstream_failed', { retryAfterSeconds, details: { kind: 'no_route' } })
}

/** Undefined when something failed that nobody knows the end of: the caller's own back-off is as good as any guess. */
function secondsUntilWorthwhile(failures: readonly UpstreamError[], refusals: readonly Refusal[]): number | undefined {
  if (failures.some(({ kind }) => kind !== 'rate_limited')) return undefined
  const waits = [
    ...failures.map(({ retryAfterSeconds }) => retryAfterSeconds ?? 1),
    ...refusals.map(({ waitMs }) => Math.ceil(waitMs / 1_000)),
  ]
  return waits.length === 0 ? undefined : Math.min(Math.max(Math.min(...waits), 1), RETRY_AFTER_SECONDS_MAX)
}

function startRecord(call: Call, { id, provider }: OpenDeployment, { key }: Admission) {
  const startedMs = performance.now()
  const record = {
    deployment: id,
    provider: provider.name,
    key: key.name,
    ...(call.progress.hasFallbacks && { model: call.progress.model }),
    ms: 0,
    failed: undefined as string | undefined,
  }
  call.facts.attempts.push(record)
  return {
    end(failed: UpstreamErrorKind | undefined) {
      record.ms = Math.round(performance.now() - startedMs)
      record.failed = failed
    },
  }
}
