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
