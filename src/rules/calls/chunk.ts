import type { Usage } from '../billing/usage.ts'

export const FINISH_REASONS = ['stop', 'length', 'content_filter', 'tool_calls'] as const
export type FinishReason = (typeof FINISH_REASONS)[number]

/** A part of an answer, the same for every provider. A whole answer is: content, then one finish, then one usage. */
export type Chunk = ContentChunk | FinishChunk | UsageChunk

/** `odd`: what the provider called an end that nobody asks for, or that we do not know. */
export interface FinishChunk {
  type: 'finish'
  reason: FinishReason
  odd?: string
}

/** `soFar`: the answer still runs. Such reports may come between its chunks, and later ones are truer. */
export interface UsageChunk {
  type: 'usage'
  usage: Usage
  soFar?: boolean
}

export type ContentChunk =
  | { type: 'text'; text: string; logprobs?: readonly unknown[] }
  | { type: 'refusal'; text: string }
  | { type: 'reasoning'; text: string }
  /** Comes once, after the rest: what the provider needs to see again beside the reasoning. */
  | { type: 'reasoning_signature'; signature: string }
  | { type: 'tool_call'; index: number; id: string | undefined; name: string | undefined; arguments: string }
  /** The vector of one input: see `vectors.ts`. An answer of vectors has no finish. */
  | { type: 'embedding'; index: number; vector: string }

/** The chunks that callers get: the model's, and sometimes one of ours before the finish. */
export type ReplyChunk = Chunk | RecommendationChunk

/** Stands between the content of an answer and its finish. It is not the model's, and not charged for. */
export interface RecommendationChunk {
  type: 'recommendation'
  /** With what parts it from the answer. */
  text: string
  sponsored: Sponsored
}

/** The facts about a recommendation in a reply that programs may want. */
export interface Sponsored {
  label: string
  advertiser: string
  url: string
  /** How many characters at the end of the content are the recommendation. */
  characters: number
}
