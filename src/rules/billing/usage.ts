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

export function promptTokensOf(usage: Usage): number {
  return usage.input + usage.cachedInput + usage.cacheWrite
}

export function completionTokensOf(usage: Usage): number {
  return usage.output + usage.reasoning
}
