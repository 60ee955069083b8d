import { createWatchdog } from '../../src/platform/timer.ts'
import { UpstreamError, type Provider } from '../../src/providers/provider.ts'
import type { Chunk } from '../../src/rules/chunk.ts'
import type { UpstreamTimers } from '../../src/rules/limits.ts'
import { countPromptTokens } from '../../src/rules/tokens.ts'
import { NO_USAGE, type Usage } from '../../src/rules/usage.ts'
import type { AttemptRecord, CallRecord } from './call-record.ts'
import type { Clock } from './clock.ts'
import type { Script, UsageReport } from './scenario.ts'

export interface ScriptedProviderOptions {
  name: string
  clock: Clock
  /** By the signals that they were started with. */
  calls: ReadonlyMap<AbortSignal, CallRecord>
  onAttempt(call: CallRecord, provider: string): void
}

/** A provider that does what the seed has written for each attempt. */
export function createScriptedProvider({ name, clock, calls, onAttempt }: ScriptedProviderOptions): Provider {
  return {
    name,
    cannotHonour: () => undefined,
    async *stream({ request, timers, apiKey }, signal) {
      const call = calls.get(signal)
      if (!call) throw new Error('this attempt belongs to no call')
      const script = call.plan.drawScript()
      const attempt: AttemptRecord = {
        provider: name,
        apiKey,
        maxTokens: request.max_tokens,
        promptTokens: countPromptTokens(request),
        given: [],
        givenTokens: 0,
        end: undefined,
      }
      call.attempts.push(attempt)
      onAttempt(call, name)
      try {
        for await (const chunk of play(script, attempt, timers, clock, signal)) {
          attempt.given.push(chunk)
          yield chunk
        }
        attempt.end = 'complete'
      } catch (error) {
        attempt.end = error instanceof UpstreamError ? error.kind : 'aborted'
        throw error
      } finally {
        attempt.end ??= 'left'
      }
    },
  }
}

async function* play(
  script: Script,
  attempt: AttemptRecord,
  timers: UpstreamTimers,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<Chunk> {
  const startedMs = clock.nowMs
  let dueMs = startedMs + script.firstAfterMs
  let isCut = false
  for (const [n, { afterMs, chunk, tokens }] of script.pieces.entries()) {
    isCut = script.obeysMaxTokens && attempt.givenTokens + tokens > (attempt.maxTokens ?? Number.POSITIVE_INFINITY)
    if (isCut) break
    dueMs += afterMs
    // Also while the gateway does not read, pieces go on arriving.
    await arrival(clock, dueMs, n === 0 ? 'first_token_timeout' : 'idle_timeout', timers, signal)
    attempt.givenTokens += tokens
    yield chunk
  }
  const { ending } = script
  const silence = attempt.given.length === 0 ? 'first_token_timeout' : 'idle_timeout'
  await arrival(clock, ending.kind === 'silent' ? Number.POSITIVE_INFINITY : dueMs, silence, timers, signal)
  if (ending.kind === 'fails' && !isCut) throw new UpstreamError(ending.error, ending)
  yield { type: 'finish', reason: isCut || ending.kind !== 'complete' ? 'length' : ending.reason }
  const usage = usageOf(ending.kind === 'complete' ? ending.usage : 'exact', attempt)
  if (usage) yield { type: 'usage', usage }
}

/** Waits as the transport does: for a piece, for the gateway's own timer, or for the caller to hang up. */
function arrival(
  clock: Clock,
  dueMs: number,
  silence: 'first_token_timeout' | 'idle_timeout',
  timers: UpstreamTimers,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason as Error)
  if (dueMs <= clock.nowMs) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      watchdog.stop()
      event?.cancel()
      signal.removeEventListener('abort', onAbort)
      settle()
    }
    const onAbort = () => finish(() => reject(signal.reason as Error))
    signal.addEventListener('abort', onAbort, { once: true })
    const limitMs = silence === 'idle_timeout' ? timers.idleMs : timers.firstTokenMs
    const watchdog = createWatchdog(limitMs, () => finish(() => reject(new UpstreamError(silence))))
    const event = Number.isFinite(dueMs)
      ? clock.schedule(clock.current, dueMs - clock.nowMs, 'arrival', () => finish(resolve))
      : undefined
  })
}

function usageOf(report: UsageReport, { promptTokens: input, givenTokens: output }: AttemptRecord): Usage | undefined {
  switch (report) {
    case 'exact':
      return { ...NO_USAGE, input, output }
    case 'absent':
      return undefined
    case 'zero':
      return NO_USAGE
    case 'generous':
      return { ...NO_USAGE, input: input * 2, output: output * 3 + 7 }
    case 'thinking':
      return { ...NO_USAGE, input, output, reasoning: output + 50 }
    case 'cached':
      return { ...NO_USAGE, input: 3, cachedInput: input, cacheWrite: 5, output }
    case 'negative':
      return { ...NO_USAGE, input, output: -1 }
    case 'not_a_number':
      return { ...NO_USAGE, input: Number.NaN, output }
    case 'absurd':
      return { ...NO_USAGE, input, output: 900_000_000 }
  }
}
