import type { Nanos } from '../money.ts'
import { costOf, dearestPrompt, TOKENS_PER_PRICE, type Price } from './pricing.ts'

/** A call's request for credit from the wallet. */
export interface Quote {
  want: Nanos
  /** Less than this does not buy the prompt and one token of reply: the call is refused. */
  min: Nanos
  promptTokens: number
  /** The answer length that `want` pays for. */
  outputTokens: number
}

/** An answer without `max_tokens` is first held at a typical length, not at the model's maximum: holds that large would
 * refuse other calls of the same wallet for money that is almost never spent. The hold grows while the stream runs. */
export const TYPICAL_OUTPUT_MIN = 256
export const TYPICAL_OUTPUT_MAX = 4_096

/** A model whose longest answer nobody has stated is taken to write no more than this. */
export const OUTPUT_TOKENS_MAX_UNKNOWN = 128_000

/** Asked for when this share of a hold is used, so that the answer arrives before the rest is. */
const EXTEND_AT_PERCENT = 70n

export interface QuoteOptions {
  promptTokens: number
  /** The caller's own. */
  maxTokens: number | undefined
  typicalOutputTokens: number
  /** How much the model can write after this prompt. */
  outputTokensMax: number
  /** How much it may think unseen. Nothing stops it there, so all of that is held from the start. */
  hiddenTokens: number
  price: Price
}

export function quote(options: QuoteOptions): Quote {
  const { promptTokens, maxTokens, hiddenTokens, outputTokensMax, price } = options
  const typical = Math.min(Math.max(options.typicalOutputTokens, TYPICAL_OUTPUT_MIN), TYPICAL_OUTPUT_MAX)
  const unasked = hiddenTokens > 0 ? hiddenTokens + TYPICAL_OUTPUT_MAX : typical
  // Clamped to what the model can write, or a caller could lock a whole wallet with max_tokens: 999999999.
  const outputTokens = Math.max(1, Math.min(maxTokens ?? unasked, outputTokensMax))
  const want = costOfCall(promptTokens, outputTokens, price)
  return { want, min: costOfCall(promptTokens, 1, price), promptTokens, outputTokens }
}

/** Answer and reasoning may be priced differently, and so may a prompt that is written to a cache: a hold assumes the dearer.
 * Even a free model needs a positive balance. */
function costOfCall(promptTokens: number, outputTokens: number, price: Price): Nanos {
  const prompt = dearestPrompt(promptTokens, price)
  const cost =
    price.reasoning > price.output
      ? costOf({ ...prompt, reasoning: outputTokens }, price)
      : costOf({ ...prompt, output: outputTokens }, price)
  return cost > 0n ? cost : 1n
}

/** A call that has spent nothing needs no more credit, even where all that was held is for the prompt. */
export function shouldExtend(spent: Nanos, held: Nanos): boolean {
  return spent > 0n && spent * 100n >= held * EXTEND_AT_PERCENT
}

/**
 * With so many answer tokens at most, an answer is not yet due to be extended, whatever they are: what is asked for every chunk
 * is answered by a comparison. `held` is what is held for the answer.
 */
export function tokensBeforeExtending(held: Nanos, price: Price): number {
  const dearest = price.output > price.reasoning ? price.output : price.reasoning
  if (dearest === 0n) return Number.POSITIVE_INFINITY
  // The cost with the answer is rounded up, and that of the prompt, which is taken off it, was as well.
  const spendable = (held * EXTEND_AT_PERCENT) / 100n - 2n
  return spendable > 0n ? Number((spendable * TOKENS_PER_PRICE) / dearest) : 0
}
