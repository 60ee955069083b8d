import { createWatchdog } from '../../src/platform/timer.ts'
import { UpstreamError, type Provider } from '../../src/providers/provider.ts'
import type { ChatRequest } from '../../src/rules/calls/chat-request.ts'
import type { Chunk } from '../../src/rules/calls/chunk.ts'
import type { UpstreamTimers } from '../../src/rules/limits.ts'
import { countTextTokens } from '../../src/rules/calls/tokens.ts'
import { NO_USAGE, type Usage } from '../../src/rules/billing/usage.ts'
import type { AttemptRecord, CallRecord } from './call-record.ts'
import type { Clock } from './clock.ts'
import type { Script, UsageReport } from './scenario.ts'

export interface ScriptedProviderOptions {
  name: string
  clock: Clock
  calls: ReadonlyMap<string, CallRecord>
  onAttempt(call: CallRecord, provider: string): void
}

/** A provider that does what the seed has written for each attempt. */
export function createScriptedProvider({ name, clock, calls, onAttempt }: ScriptedProviderOptions): Provider {
  return {
    name,
    cannotHonour: () => undefined,
    async *stream({ request, upstreamModel, timers, apiKey, onSent }, signal) {
      const call = calls.get(upstreamModel)
      if (!call) throw new Error('this attempt belongs to no call')
      const script = call.plan.drawScript()
      const { textTokens: promptTextTokens, images } = readPrompt(request)
      const attempt: AttemptRecord = {
        provider: name,
        apiKey,
        maxTokens: request.max_tokens,
        promptTokens: promptTextTokens + images * script.imageTokens,
        promptTextTokens,
        images,
        isSent: false,
        hiddenTokens: 0,
        given: [],
        textTokens: 0,
        thoughtTokens: 0,
        billed: NO_USAGE,
        end: undefined,
      }
      call.attempts.push(attempt)
      onAttempt(call, name)
      const startedMs = clock.nowMs
      try {
        if (!isNeverReached(script)) {
          attempt.isSent = true
          onSent?.()
        }
        for await (const chunk of play(script, attempt, timers, clock, signal)) {
          attempt.given.push(chunk)
          yield [chunk]
        }
        attempt.end = 'complete'
      } catch (error) {
        attempt.end = error instanceof UpstreamError ? error.kind : 'aborted'
        throw error
      } finally {
        attempt.end ??= 'left'
        if (attempt.isSent) attempt.billed = billOf(script, attempt, clock.nowMs - startedMs)
      }
    },
  }
}

/** The prompt, and what was thought and written in that time. What is written in the very moment of a cancel, nobody can
 * know of. */
function billOf(script: Script, { promptTokens, maxTokens = Infinity, end }: AttemptRecord, afterMs: number): Usage {
  const hidden = Math.min(script.hiddenTokens, maxTokens)
  const share = script.firstAfterMs === 0 ? 1 : Math.min(1, afterMs / script.firstAfterMs)
  const usage = { ...NO_USAGE, input: promptTokens, reasoning: Math.floor(hidden * share) }
  let dueMs = script.firstAfterMs
  for (const { afterMs: gapMs, tokens, chunk } of script.chunks) {
    dueMs += gapMs
    const isTooMuch = script.obeysMaxTokens && usage.output + usage.reasoning + tokens > maxTokens
    if (isTooMuch || (end === 'complete' ? dueMs > afterMs : dueMs >= afterMs)) break
    if (chunk.type === 'reasoning') usage.reasoning += tokens
    else usage.output += tokens
  }
  return usage
}

/** These fail before anything was sent. */
function isNeverReached({ ending }: Script): boolean {
  return ending.kind === 'fails' && (ending.error === 'refused' || ending.error === 'connect_timeout')
}

/** As a provider does it, in its own way: every text that it was sent, and the frames around them. */
function readPrompt({ messages }: ChatRequest): { textTokens: number; images: number } {
  let textTokens = 3 + 4 * messages.length
  let images = 0
  const read = (value: unknown): void => {
    if (typeof value === 'string') textTokens += textTokensOf(value)
    else if (Array.isArray(value)) value.forEach(read)
    else if (isPart(value) && value.type === 'image_url') images++
    else if (isPart(value)) read(value.text)
  }
  for (const { role: _, ...message } of messages) {
    for (const [field, value] of Object.entries(message)) read(field === 'tool_calls' ? JSON.stringify(value) : value)
  }
  return { textTokens, images }
}

function isPart(value: unknown): value is { type: string; text: string } {
  return typeof value === 'object' && value !== null && 'type' in value
}

/** The few long prompts come again and again. */
const counted = new Map<string, number>()

function textTokensOf(text: string): number {
  const tokens = counted.get(text) ?? countTextTokens(text)
  if (text.length > 1_000) counted.set(text, tokens)
  return tokens
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
  const allowed = attempt.maxTokens ?? Number.POSITIVE_INFINITY
  const hidden = Math.min(script.hiddenTokens, allowed)
  let isCut = false
  for (const [n, { afterMs, chunk, tokens }] of script.chunks.entries()) {
    isCut = script.obeysMaxTokens && hidden + attempt.textTokens + attempt.thoughtTokens + tokens > allowed
    if (isCut) break
    dueMs += afterMs
    // Also while the gateway does not read, chunks go on arriving.
    await arrival(clock, dueMs, n === 0 ? 'first_token_timeout' : 'idle_timeout', timers, signal)
    // Before it says a word it has thought.
    attempt.hiddenTokens = hidden
    if (chunk.type === 'reasoning') attempt.thoughtTokens += tokens
    else attempt.textTokens += tokens
    yield chunk
    if (n === 0 && script.reportsSoFar) yield { type: 'usage', usage: reportedUsage('exact', attempt)!, soFar: true }
  }
  const { ending } = script
  const silence = attempt.given.length === 0 ? 'first_token_timeout' : 'idle_timeout'
  await arrival(clock, ending.kind === 'silent' ? Number.POSITIVE_INFINITY : dueMs, silence, timers, signal)
  if (ending.kind === 'fails' && !isCut) throw new UpstreamError(ending.error, ending)
  attempt.hiddenTokens = hidden
  yield { type: 'finish', reason: isCut || ending.kind !== 'complete' ? 'length' : ending.reason }
  const usage = reportedUsage(ending.kind === 'complete' ? ending.usage : 'exact', attempt)
  if (usage) yield { type: 'usage', usage }
}

/** Waits as the transport does: for a chunk, for the gateway's own timer, or for the caller to hang up. */
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

function reportedUsage(report: UsageReport, attempt: AttemptRecord): Usage | undefined {
  const { promptTokens: input, textTokens: output, thoughtTokens, hiddenTokens } = attempt
  const reasoning = thoughtTokens + hiddenTokens
  switch (report) {
    case 'exact':
      return { ...NO_USAGE, input, output, reasoning }
    case 'absent':
      return undefined
    case 'zero':
      return NO_USAGE
    case 'generous':
      return { ...NO_USAGE, input: input * 2, output: output * 3 + 7 }
    case 'thinking':
      return { ...NO_USAGE, input, output, reasoning: reasoning + output + 50 }
    case 'cached':
      return { ...NO_USAGE, input: 3, cachedInput: input, cacheWrite: 5, output, reasoning }
    case 'negative':
      return { ...NO_USAGE, input, output: -1 }
    case 'not_a_number':
      return { ...NO_USAGE, input: Number.NaN, output }
    case 'absurd':
      return { ...NO_USAGE, input, output: 900_000_000 }
  }
}
