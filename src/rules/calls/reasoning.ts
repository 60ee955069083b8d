import type { UpstreamTimers } from '../limits.ts'
import type { ReasoningEffort } from './chat-request.ts'

/**
 * How much a model may think at each effort. A provider that wants a number of tokens is told this one, and a hold covers it
 * where nobody has said or seen how much the model thinks.
 */
export const REASONING_TOKENS: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 32_768,
  max: 32_768,
}

/** Models think at 50 to 200 tokens a second, and many show nothing of it. */
const THINKING_TOKENS_PER_SECOND = 50

/** A model that was asked to think is silent for as long as that takes, beyond what its deployment is given anyway. */
export function timersFor(timers: UpstreamTimers, effort: ReasoningEffort = 'none'): UpstreamTimers {
  const { firstTokenMs, totalMs } = timers
  const thinkingMs = Math.ceil((REASONING_TOKENS[effort] * 1_000) / THINKING_TOKENS_PER_SECOND)
  return { ...timers, firstTokenMs: Math.max(firstTokenMs, Math.min(firstTokenMs + thinkingMs, totalMs)) }
}
