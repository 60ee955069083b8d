import type { Usage } from './usage.ts'

export const FINISH_REASONS = ['stop', 'length', 'content_filter', 'tool_calls'] as const
export type FinishReason = (typeof FINISH_REASONS)[number]

/** One piece of an answer, the same for every provider. A whole answer is: pieces, then one finish, then one usage. */
export type Chunk = ContentChunk | { type: 'finish'; reason: FinishReason } | { type: 'usage'; usage: Usage }

export type ContentChunk =
  | { type: 'text'; text: string }
  | { type: 'refusal'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'tool_call'; index: number; id: string | undefined; name: string | undefined; arguments: string }
