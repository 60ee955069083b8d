/** Where what the gateway makes of a capture differs from what the capture says. */
import type { Made } from './adapter.ts'
import type { Capture, Format } from './captures.ts'
import type { Call, Reading } from './reading.ts'

/** The caller's finish reason for each of the provider's. Reasons that are not listed occur in no capture, and become `stop`. */
const ENDINGS: Record<Format, Record<string, string>> = {
  'openai-compatible': {
    stop: 'stop',
    length: 'length',
    tool_calls: 'tool_calls',
    function_call: 'tool_calls',
    content_filter: 'content_filter',
  },
  anthropic: {
    end_turn: 'stop',
    stop_sequence: 'stop',
    pause_turn: 'stop',
    max_tokens: 'length',
    model_context_window_exceeded: 'length',
    tool_use: 'tool_calls',
    refusal: 'content_filter',
  },
  gemini: { STOP: 'stop', MAX_TOKENS: 'length', SAFETY: 'content_filter', MODEL_ARMOR: 'content_filter' },
  vertex: { STOP: 'stop', MAX_TOKENS: 'length', SAFETY: 'content_filter', MODEL_ARMOR: 'content_filter' },
  bedrock: {
    end_turn: 'stop',
    stop_sequence: 'stop',
    max_tokens: 'length',
    tool_use: 'tool_calls',
    content_filtered: 'content_filter',
    guardrail_intervened: 'content_filter',
  },
}

export function differencesIn({ format }: Capture, said: Reading, made: Made): string[] {
  if (made.failedWith !== undefined) return said.hasFailed ? [] : [`it failed with ${made.failedWith}`]
  if (said.hasFailed) return ['a failure was taken for an answer']
  const expected = endingOf(format, said)
  return [
    ...(['text', 'reasoning', 'refusal'] as const).flatMap((part) => {
      return made[part] === said[part] ? [] : [`${part}: ${made[part].length} of ${said[part].length} characters`]
    }),
    ...differencesOfCalls(said.calls, made.calls),
    ...(made.ending === expected ? [] : [`ending: ${made.ending}, not ${expected} (${said.ending})`]),
    ...differencesOfUsage(said, made),
  ]
}

function endingOf(format: Format, { ending, calls }: Reading): string {
  const told = ENDINGS[format][ending ?? ''] ?? 'stop'
  const hasCalls = calls.length > 0 && told === 'stop'
  // Gemini has no ending of its own for calls, and some others say none at all.
  return hasCalls && (format === 'gemini' || format === 'vertex' || ending === undefined) ? 'tool_calls' : told
}

function differencesOfCalls(said: readonly Call[], made: readonly Call[]): string[] {
  if (said.length !== made.length) return [`calls: ${made.length} of ${said.length}`]
  return said.flatMap((call, n) => {
    const { id, name, arguments: given } = made[n]!
    const isSame =
      name === call.name && (call.id === '' ? id !== '' : id === call.id) && given === (call.arguments || '{}')
    return isSame ? [] : [`call: ${JSON.stringify(made[n])}, not ${JSON.stringify(call)}`]
  })
}

function differencesOfUsage({ usage: said }: Reading, { usage: made }: Made): string[] {
  if (!said || !made) return said === made ? [] : [`usage: ${JSON.stringify(made)}, not ${JSON.stringify(said)}`]
  return (['prompt', 'cached', 'completion'] as const).flatMap((part) => {
    return made[part] === said[part] ? [] : [`${part} tokens: ${made[part]}, not ${said[part]}`]
  })
}
