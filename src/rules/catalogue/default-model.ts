import type { ModelKind } from './model-kinds.ts'

export interface PricedModel {
  id: string
  kind: ModelKind
  /** For a million tokens. */
  input: bigint
  output: bigint
}

/** The words that names of small models have in common, for two that cost the same. */
const SMALL = /(?:^|[^a-z])(?:nano|micro|mini|small|lite|flash|haiku|tiny)(?:[^a-z]|$)/i
/** A chat reads about so many tokens for one that it writes. */
const READ_PER_WRITTEN = 3n

/**
 * The one to begin a chat with where nobody has chosen: the cheapest, because a first try should cost next to nothing.
 * `allowed`: null where all are.
 */
export function defaultModelOf<M extends PricedModel>(
  models: readonly M[],
  allowed: readonly string[] | null = null,
): M | undefined {
  const chats = models.filter(({ id, kind }) => kind === 'chat' && (allowed === null || allowed.includes(id)))
  return chats.toSorted(cheapestFirst)[0]
}

function cheapestFirst(a: PricedModel, b: PricedModel): number {
  const difference = costOf(a) - costOf(b)
  if (difference !== 0n) return difference < 0n ? -1 : 1
  return Number(SMALL.test(b.id)) - Number(SMALL.test(a.id)) || (a.id < b.id ? -1 : 1)
}

function costOf({ input, output }: PricedModel): bigint {
  return READ_PER_WRITTEN * input + output
}
