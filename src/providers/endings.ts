import type { FinishChunk, FinishReason } from '../rules/calls/chunk.ts'
import { UpstreamError, type UpstreamErrorKind } from './provider.ts'

/**
 * The meaning of a wire format's names for the end of an answer.
 *
 * Anything that the model did is a finished answer, however odd: its provider bills it, any caller can provoke it, and it
 * says nothing of the provider's health. Only what the provider itself calls its own failure is one.
 */
export interface Endings {
  usual: ReadonlyMap<string, FinishReason>
  /** Ends that nobody asks for. They are logged by name, and so is every name that is in no table. */
  odd: ReadonlyMap<string, FinishReason>
  failed: ReadonlySet<string>
}

export const OPENAI_ENDINGS: Endings = {
  usual: new Map<string, FinishReason>([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content_filter', 'content_filter'],
    ['tool_calls', 'tool_calls'],
    ['function_call', 'tool_calls'],
    // Together's.
    ['eos', 'stop'],
    // Mistral's: the context window is full.
    ['model_length', 'length'],
    // Zhipu's.
    ['sensitive', 'content_filter'],
    ['model_context_window_exceeded', 'length'],
  ]),
  odd: new Map(),
  // The second is DeepSeek's, the third Zhipu's.
  failed: new Set(['error', 'insufficient_system_resource', 'network_error']),
}

export const ANTHROPIC_ENDINGS: Endings = {
  usual: new Map<string, FinishReason>([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
  ]),
  odd: new Map(),
  failed: new Set(),
}

export const GEMINI_ENDINGS: Endings = {
  usual: new Map<string, FinishReason>([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    // The most that one request may be answered with, although the caller allowed more.
    ['CONTINUATION', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['LANGUAGE', 'content_filter'],
    ['BLOCKLIST', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['SPII', 'content_filter'],
    ['MODEL_ARMOR', 'content_filter'],
    ['IMAGE_SAFETY', 'content_filter'],
    ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
    ['IMAGE_RECITATION', 'content_filter'],
  ]),
  odd: new Map<string, FinishReason>([
    // It wrote a call that is none, called what was not declared, or did not stop calling.
    ['MALFORMED_FUNCTION_CALL', 'stop'],
    ['UNEXPECTED_TOOL_CALL', 'stop'],
    ['TOO_MANY_TOOL_CALLS', 'stop'],
    ['MALFORMED_RESPONSE', 'stop'],
    // The caller sent back a call without what the model had signed it with.
    ['MISSING_THOUGHT_SIGNATURE', 'stop'],
    ['NO_IMAGE', 'stop'],
    ['IMAGE_OTHER', 'stop'],
    ['OTHER', 'stop'],
    ['FINISH_REASON_UNSPECIFIED', 'stop'],
  ]),
  failed: new Set(),
}

/** The odd endings in a call that nobody can use. Where nothing else was said, the model is asked once more. */
export const GEMINI_UNUSABLE_CALLS: ReadonlySet<string | undefined> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
])

/** The endings of Converse. The package that reads it knows the first six itself, and tells a schema's tool from a caller's. */
export const BEDROCK_ENDINGS: Endings = {
  usual: new Map<string, FinishReason>([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['tool_use', 'tool_calls'],
    ['content_filtered', 'content_filter'],
    ['guardrail_intervened', 'content_filter'],
    ['model_context_window_exceeded', 'length'],
  ]),
  odd: new Map<string, FinishReason>([
    ['malformed_model_output', 'stop'],
    ['malformed_tool_use', 'stop'],
  ]),
  failed: new Set(),
}

export function finishOf(name: string, { usual, odd, failed }: Endings): FinishChunk {
  if (failed.has(name)) throw new UpstreamError('error_in_200')
  const reason = usual.get(name)
  return reason === undefined ? oddFinish(odd.get(name) ?? 'stop', name) : { type: 'finish', reason }
}

export function oddFinish(reason: FinishReason, name: string): FinishChunk {
  // A name is a word. Anything else may quote the prompt, and this is logged.
  return { type: 'finish', reason, odd: /^\w{1,64}$/.test(name) ? name : 'unreadable' }
}

/** Anthropic's words for it, also at Bedrock; it comes as an error, in the middle of an answer. */
export function isBlockedOutput(message: unknown): boolean {
  return typeof message === 'string' && message.startsWith('Output blocked by content filtering policy')
}

const OF_THE_REQUEST = new Set<unknown>([400, 403, 413, 422])

/** The meaning of an error inside a stream, by the status that it would have had outside. */
export function kindOfErrorEvent(status: unknown): UpstreamErrorKind {
  if (status === 429) return 'rate_limited'
  return OF_THE_REQUEST.has(status) ? 'rejected' : 'error_in_200'
}
