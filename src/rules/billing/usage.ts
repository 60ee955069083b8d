/** The kinds of tokens, each with a price of its own, in the order in which people read them. */
export const TOKEN_CLASSES = [
  'input', // of the prompt, that the model read anew
  'cachedInput', // of the prompt, that the provider served from its cache
  'cacheWrite', // of the prompt, that the provider wrote into its cache
  'output', // of the visible answer
  'reasoning', // that the model spent thinking
] as const
export type TokenClass = (typeof TOKEN_CLASSES)[number]

/** Something of each class: how many, what they cost, what they are called. */
export type PerClass<T> = Record<TokenClass, T>

/**
 * Tokens in disjoint buckets: each token is in exactly one, so that nothing can be priced twice. Adapters convert what
 * their provider reports (where cached tokens are usually part of the prompt) into this.
 */
export type Usage = PerClass<number>

export function perClass<T>(valueOf: (name: TokenClass) => T): PerClass<T> {
  return {
    input: valueOf('input'),
    cachedInput: valueOf('cachedInput'),
    cacheWrite: valueOf('cacheWrite'),
    output: valueOf('output'),
    reasoning: valueOf('reasoning'),
  }
}

export const NO_USAGE: Usage = perClass(() => 0)

export function promptTokensOf(usage: Usage): number {
  return usage.input + usage.cachedInput + usage.cacheWrite
}

export function completionTokensOf(usage: Usage): number {
  return usage.output + usage.reasoning
}
