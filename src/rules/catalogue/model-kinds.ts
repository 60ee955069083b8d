import type { PerClass } from '../billing/usage.ts'

/** The output of a model: text, at the endpoints for chat, or vectors, at the one for embeddings. */
export const MODEL_KINDS = ['chat', 'embedding'] as const
export type ModelKind = (typeof MODEL_KINDS)[number]

/** Why a model of this kind cannot have this price. Undefined: it can. */
export function priceProblemOf(kind: ModelKind, { output, reasoning }: PerClass<bigint>): string | undefined {
  if (kind === 'chat' || (output === 0n && reasoning === 0n)) return undefined
  return 'An embedding model writes no tokens, so its output and reasoning prices must be 0.'
}
