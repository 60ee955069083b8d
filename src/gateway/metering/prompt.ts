import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import { ParleyError } from '../../rules/errors.ts'
import { HELD_FIGURES, TYPICAL_FIGURES } from '../../rules/catalogue/figures.ts'
import type { Model } from '../../rules/upstreams/routing.ts'
import { LARGE_BODY_BYTES } from '../../rules/limits.ts'
import { PLAIN } from '../../rules/calls/scripts.ts'
import {
  countPromptInTurns,
  estimateTexts,
  promptOf,
  promptTokensMax,
  tokensBesideText,
  tokensOfAnyTokenizer,
  type Prompt,
  type TextCount,
} from '../../rules/calls/tokens.ts'
import type { Call } from '../call.ts'
import type { Gateway } from '../gateway.ts'
import type { Route, Routes } from '../upstreams/catalogue.ts'
import type { TokenRatio } from './model-statistics.ts'

/** The prompt of one call, as far as it is money. */
export interface MeteredPrompt {
  /** How many tokens a hold must pay for. */
  readonly tokens: number
  /** Our own count, for a prompt that its provider has not counted, with what images and files usually come to or with what
   * was held for them. Counts a long prompt only when it is asked for. */
  count(media: 'usual' | 'held'): Promise<number>
  /** No provider can have read more. */
  possible(): number
  /**
   * Only its provider knows its tokens: it has images, files or recordings, or a script whose tokens nobody has seen
   * reported.
   */
  readonly isUnknown: boolean
  /** The ratio that a report of this many tokens shows for the model's tokenizer. Undefined: none that can be relied on. */
  ratioTo(reportedTokens: number): TokenRatio | undefined
}

/** Where a call can go, and what its prompt comes to there. */
export interface MeteredRoute extends Route {
  prompt: MeteredPrompt
}
export type MeteredRoutes = readonly [MeteredRoute, ...MeteredRoute[]]

/** A sample may be wrong by this much. Where that matters, the prompt is counted. */
export const SAMPLE_LEEWAY = 1.25
/** Shorter prompts say more of what a provider adds by itself. */
export const RATIO_TOKENS_MIN = 100

type Parts = Pick<Gateway, 'statistics' | 'chance' | 'work' | 'tokenMemory'>
type Sender = Pick<Call, 'caller' | 'bodyBytes'>

/** Returns the routes whose models can read the prompt. Throws 422 when it is longer than the context window of each. */
export async function meterRoutes(
  gateway: Parts,
  call: Sender,
  request: ChatRequest,
  routes: Routes,
): Promise<MeteredRoutes> {
  const read = await readPrompt(gateway, call, request)
  const metered: MeteredRoute[] = []
  let refusal: ParleyError | undefined
  for (const route of routes) {
    try {
      metered.push({ ...route, prompt: await meterPrompt(gateway, call.caller.publisherId, read, route.model) })
    } catch (error) {
      if (!(error instanceof ParleyError)) throw error
      refusal ??= error
    }
  }
  const [first, ...others] = metered
  if (!first) throw refusal as ParleyError
  return [first, ...others]
}

interface ReadPrompt {
  prompt: Prompt
  estimate: TextCount
  /** Counts it in turns with others, once for all models. It takes long, however short a prompt is that must be counted. */
  count(): Promise<Omit<TextCount, 'script'>>
}

/** Throws 422 when the prompt is longer than the model's context window. */
async function meterPrompt(
  { statistics }: Parts,
  publisherId: string,
  { prompt, estimate, count }: ReadPrompt,
  model: Model,
): Promise<MeteredPrompt> {
  const { figures, contextWindow = Infinity } = model
  const usual = tokensBesideText(prompt, figures, TYPICAL_FIGURES)
  const held = tokensBesideText(prompt, figures, HELD_FIGURES)
  const hasMedia = prompt.images + prompt.files + prompt.recordings > 0
  /**
   * Tokens of a text by the model's own tokenizer. For a script that it was not seen to read, the most that is possible is
   * held, and our own count is charged if nobody reports.
   */
  const textTokens = ({ tokens, script }: TextCount, which: 'usual' | 'held') => {
    const ratio = statistics.tokenRatio(model, publisherId, script, which)
    if (ratio === undefined) return which === 'usual' ? tokens : tokensOfAnyTokenizer(prompt, tokens)
    return Math.ceil(tokens * ratio)
  }
  let text = estimate
  const mustCount = !text.isExact && isNear(text.tokens, contextWindow)
  if (mustCount) text = { ...text, ...(await count()) }
  refuseBeyond(text.isExact || mustCount ? contextWindow : contextWindow * SAMPLE_LEEWAY, contextWindow, text)
  const { script } = text
  return {
    // A provider refuses what does not fit its window, so more than that need not be held.
    tokens: Math.max(textTokens(text, 'usual') + usual, Math.min(textTokens(text, 'held') + held, contextWindow)),
    async count(media) {
      if (!text.isExact && !mustCount) text = { ...text, ...(await count()) }
      const texts = textTokens(text, 'usual')
      return media === 'usual' ? texts + usual : Math.max(texts + usual, Math.min(texts + held, contextWindow))
    },
    possible: () => promptTokensMax(prompt, figures),
    isUnknown:
      hasMedia || (script !== PLAIN && statistics.tokenRatio(model, publisherId, script, 'usual') === undefined),
    ratioTo(reportedTokens) {
      const isReliable = text.isExact && !hasMedia && prompt.tools === 0 && text.tokens >= RATIO_TOKENS_MIN
      return isReliable ? { script, ratio: (reportedTokens - usual) / text.tokens } : undefined
    },
  }
}

async function readPrompt(
  { work, chance, tokenMemory }: Parts,
  { caller: { publisherId }, bodyBytes }: Sender,
  request: ChatRequest,
): Promise<ReadPrompt> {
  const known = tokenMemory.of(publisherId)
  let counted: ReturnType<ReadPrompt['count']> | undefined
  const estimateOf = (prompt: Prompt): ReadPrompt => ({
    prompt,
    estimate: estimateTexts(prompt, chance, known),
    count: () => (counted ??= work.runInTurn(publisherId, (giveWay) => countPromptInTurns(prompt, chance, giveWay))),
  })
  if (bodyBytes < LARGE_BODY_BYTES) return work.run(publisherId, () => estimateOf(promptOf(request)))
  return work.runInTurn(publisherId, async (giveWay) => {
    const prompt = promptOf(request)
    await giveWay()
    return estimateOf(prompt)
  })
}

function isNear(tokens: number, contextWindow: number): boolean {
  return tokens > contextWindow / SAMPLE_LEEWAY && tokens <= contextWindow * SAMPLE_LEEWAY
}

/** Only by its texts: what images and files take of a window, only their provider knows. */
function refuseBeyond(most: number, contextWindow: number, { tokens, isExact }: TextCount): void {
  if (tokens <= most) return
  const message = `The prompt has ${isExact ? '' : 'about '}${tokens} tokens, but this model reads at most ${contextWindow}. Shorten the messages, or use a model with a larger context window.`
  throw new ParleyError('prompt_too_long', { message, param: 'messages' })
}
