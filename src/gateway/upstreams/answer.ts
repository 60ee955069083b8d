import { setTimeout as sleep } from 'node:timers/promises'
import { UpstreamError, type UpstreamErrorKind } from '../../providers/provider.ts'
import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import type { Chunk } from '../../rules/calls/chunk.ts'
import { ParleyError } from '../../rules/errors.ts'
import type { Call } from '../call.ts'
import type { OpenDeployment } from './catalogue.ts'
import type { Admission, Refusal, Upstreams } from './upstreams.ts'

/** What a second try at the very same deployment may cure. No timeouts: the caller has waited for one already. */
const WORTH_REPEATING: ReadonlySet<UpstreamErrorKind> = new Set(['refused', 'reset', 'server_error', 'model_failed'])
/** What another key of the same provider may cure. */
const WORTH_ANOTHER_KEY: ReadonlySet<UpstreamErrorKind> = new Set(['rate_limited', 'key_rejected'])
const TRIES_PER_DEPLOYMENT_MAX = 3
const RETRY_AFTER_SECONDS_MAX = 60

/**
 * The answer of the first deployment that gives one. Another one is asked only before the first chunk: afterwards the caller
 * has seen part of an answer, and a second one must not be glued to it.
 *
 * What a model wrote and nobody can use is the answer when there is no better one: its provider bills it, and whoever asks
 * can provoke it.
 */
export async function* answer(
  upstreams: Upstreams,
  deployments: readonly OpenDeployment[],
  request: ChatRequest,
  call: Call,
  signal: AbortSignal,
): AsyncGenerator<Chunk> {
  const isOnly = deployments.length === 1
  const caller = { publisherId: call.caller.publisherId, conversation: call.progress.cache?.key }
  const failures: UpstreamError[] = []
  const refusals: Refusal[] = []
  let useless: { of: OpenDeployment; chunks: readonly Chunk[] } | undefined
  for (const deployment of upstreams.inOrder(deployments, caller.conversation)) {
    const spentKeys = new Set<string>()
    let mayRepeat = isOnly
    for (let tries = 0; tries < TRIES_PER_DEPLOYMENT_MAX; tries++) {
      const admission = upstreams.admit(deployment, caller, isOnly, spentKeys)
      if ('why' in admission) {
        refusals.push(admission)
        break
      }
      const failure = yield* attempt(deployment, admission, request, call, signal)
      if (!failure) return
      failures.push(failure)
      if (failure.answerAsIs) useless = { of: deployment, chunks: failure.answerAsIs }
      if (WORTH_ANOTHER_KEY.has(failure.kind)) {
        spentKeys.add(admission.key.id)
        continue
      }
      if (!mayRepeat || !WORTH_REPEATING.has(failure.kind)) break
      mayRepeat = false
      const waitMs = upstreams.repeatAfterMs()
      if (waitMs === undefined) break
      // Ends with the reason of the abort, as a stream does, and not with the timer's own error: a caller that hung up
      // would be taken for a failure of ours.
      await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
  if (!useless) throw failureOfAll(failures, refusals)
  yield* asAnswer(useless.chunks, useless.of, call)
}

/** Returns why there was no first chunk; throws when the answer breaks after it. */
async function* attempt(
  deployment: OpenDeployment,
  admission: Admission,
  request: ChatRequest,
  call: Call,
  signal: AbortSignal,
): AsyncGenerator<Chunk, UpstreamError | undefined> {
  const record = startRecord(call, deployment, admission)
  const { upstreamModel, timers, unsupportedFields, extraBody } = deployment
  const { endUserId: endUser, cache } = call.progress
  let hasBegun = false
  const onSent = () => void (call.facts.deploymentId = deployment.id)
  try {
    const asked = { request, upstreamModel, unsupportedFields, extraBody, endUser, cache }
    const upstreamCall = { ...asked, apiKey: admission.key.secret, timers, onSent }
    // Leaving this loop early cancels the upstream call.
    for await (const chunk of deployment.provider.stream(upstreamCall, signal)) {
      if (!hasBegun) {
        hasBegun = true
        admission.began()
        onSent()
        record.end(undefined)
      }
      noteEnding(chunk, call)
      yield chunk
    }
    admission.ended('complete')
    return undefined
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    if (hasBegun && error.kind === 'total_timeout') {
      // A provider that still writes has not failed: the answer is longer than there is time for.
      yield { type: 'finish', reason: 'length' }
      return undefined
    }
    admission.ended(error.kind === 'reader_stalled' ? 'left' : error)
    record.end(error.kind)
    if (hasBegun) throw error
    // Its caller is gone and nobody waits for another one. A provider that was only slow has the prompt all the same.
    const isReadOn = call.signal.aborted
    if (isReadOn && error.answerAsIs) return yield* asAnswer(error.answerAsIs, deployment, call)
    if (!isReadOn || !error.kind.endsWith('_timeout')) call.facts.deploymentId = undefined
    if (isReadOn) throw error
    return error
  } finally {
    // Whoever hangs up, and whatever is our own fault, comes by here only.
    admission.ended('left')
  }
}

function* asAnswer(chunks: readonly Chunk[], { id }: OpenDeployment, call: Call): Generator<Chunk, undefined> {
  call.facts.deploymentId = id
  for (const chunk of chunks) {
    noteEnding(chunk, call)
    yield chunk
  }
}

function noteEnding(chunk: Chunk, { progress }: Call): void {
  if (chunk.type === 'finish') progress.oddEnding = chunk.odd
}

/** What the caller is told when there was no answer: what the last provider did, and when it is worth while to retry. */
function failureOfAll(failures: readonly UpstreamError[], refusals: readonly Refusal[]): Error {
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
