import type { FormatName } from './formats.ts'

/**
 * The treatment that a request's field must get, by provider format. These tables are written from what providers document, and
 * not from the code: a cell that differs is a bug or a decision, never a reason to copy what was seen.
 */
export interface Row {
  /** Its name in a request. */
  field: string
  /** Other names of the request and of src/rules/calls/route-fields.ts that it stands for. */
  also?: readonly string[]
  /** Its effect in Parley, for publishers. */
  does: string
  /** No provider has a say in it, though its request may have it. */
  isOurs?: boolean
  cases: readonly Case[]
}

export interface Case {
  /** The request in words; docs/fields.md shows it if the cases of a row do not all end alike. */
  name: string
  /** `{mark}` in it becomes a word that is in no other request. */
  request: Record<string, unknown>
  models?: Partial<Record<FormatName, string>>
  /** Mostly about other fields beside this one: docs/fields.md says only what is refused. */
  isAside?: boolean
  /** The request calls a tool, and what is looked at is the next one, which brings the result. */
  isToolLoop?: boolean
  /** A format that is not named is not tried. */
  openai?: Expected
  anthropic?: Expected
  /** Also of Vertex, unless that is named. */
  gemini?: Expected
  vertex?: Expected
  bedrock?: Expected
}

export type Expected = Seen | Refused

/** The call succeeds, and the provider is told this in its own words. */
export interface Seen {
  /** By the path in its request, `messages.0.role`. Undefined: nothing may stand there. A pattern: a text like that. */
  at: Record<string, unknown>
  /** The parts that the caller must find in the answer. */
  answered?: readonly AnswerPart[]
  /** Words of the caller's that the provider must not see. */
  never?: readonly string[]
}

export type AnswerPart = 'reasoning_content' | 'reasoning_signature' | 'tool_calls' | 'logprobs' | 'usage' | 'no usage'

/** 422, with a sentence that begins with these words. */
export interface Refused {
  refused: string
}

export function sees(at: Record<string, unknown>, more: Omit<Seen, 'at'> = {}): Seen {
  return { at, ...more }
}

export function refused(words: string): Refused {
  return { refused: words }
}

/** The caller's words stay here. */
export function keeps(words: string, at: Record<string, unknown> = {}): Seen {
  return { at, never: [words] }
}

export function everywhere(expected: Expected) {
  return { openai: expected, anthropic: expected, gemini: expected, bedrock: expected }
}

export function expectedOf(tried: Case, format: FormatName): Expected | undefined {
  return format === 'vertex' ? (tried.vertex ?? tried.gemini) : tried[format]
}

/** The caller's text, unless the case is about that. */
export const SAID = 'Hello {mark}'
export const HELLO = { role: 'user', content: SAID }

export const TOOL = {
  type: 'function',
  function: {
    name: 'look_up',
    description: 'Looks a word up.',
    parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  },
}

export const GEMINI_3 = { gemini: 'gemini-3-flash-preview', vertex: 'gemini-3-flash-preview' }
export const CLAUDE_NOT_MADE_TO_CALL = ['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-fable-5-1']
