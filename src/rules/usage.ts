/**
 * Tokens in disjoint buckets: each token is in exactly one, so that nothing can be priced twice. Adapters convert what
 * their provider reports (where cached tokens are usually part of the prompt) into this.
 */
export interface Usage {
  /** Prompt tokens that the model read anew. */
  input: number
  /** Prompt tokens that the provider served from its cache. */
  cachedInput: number
  /** Prompt tokens that the provider wrote into its cache. */
  cacheWrite: number
  /** Tokens of the visible answer. */
  output: number
  /** Tokens that the model spent thinking. */
  reasoning: number
}

export const NO_USAGE: Usage = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }

/** Beyond this a count does not fit the ledger's columns, and no model is that long. */
const TOKENS_MAX = 1_000_000_000

export function promptTokensOf(usage: Usage): number {
  return usage.input + usage.cachedInput + usage.cacheWrite
}

export function completionTokensOf(usage: Usage): number {
  return usage.output + usage.reasoning
}

/**
 * Is what the provider reports credible beside what we counted? Providers count differently than we do, and reasoning is
 * invisible to us, so the bounds are wide; what breaks them is a defect (a negative count, a unit mix-up) and must not
 * empty a publisher's wallet.
 */
export function isPlausible(reported: Usage, counted: Usage, outputMax: number): boolean {
  const counts = Object.values(reported) as number[]
  if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0 && count <= TOKENS_MAX)) return false
  // Images and provider-side tools add prompt tokens that we cannot see: hence the constant.
  if (promptTokensOf(reported) > 4 * promptTokensOf(counted) + 20_000) return false
  return completionTokensOf(reported) <= 4 * Math.max(outputMax, completionTokensOf(counted))
}
