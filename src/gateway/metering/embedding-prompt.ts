import { areTexts, inputPathOf, tooManyTokens, type EmbeddingsRequest } from '../../rules/calls/embeddings-request.ts'
import { PLAIN } from '../../rules/calls/scripts.ts'
import {
  countPromptInTurns,
  countTextsInTurns,
  estimateTexts,
  promptTokensMax,
  sampleInTurns,
  tokensOfAnyTokenizer,
  type Prompt,
  type TextCount,
} from '../../rules/calls/tokens.ts'
import { ParleyError } from '../../rules/errors.ts'
import { EMBEDDING_TOKENS_MAX, LARGE_BODY_BYTES } from '../../rules/limits.ts'
import type { Model } from '../../rules/upstreams/routing.ts'
import type { Call } from '../call.ts'
import type { Gateway } from '../gateway.ts'
import { RATIO_TOKENS_MIN, SAMPLE_LEEWAY, type MeteredPrompt } from './prompt.ts'

type Parts = Pick<Gateway, 'statistics' | 'chance' | 'work'>
type Sender = Pick<Call, 'caller' | 'bodyBytes'>

/** Meters the inputs of a request for embeddings. Throws 422 where one is longer than the model's context window. */
export async function meterInputs(
  gateway: Parts,
  call: Sender,
  request: EmbeddingsRequest,
  model: Model,
): Promise<MeteredPrompt> {
  const { inputs } = request
  return areTexts(inputs) ? meterTexts(gateway, call, request, inputs, model) : meterTokenIds(request, model)
}

/** Nothing is read from them but how many there are, which is what providers count. */
function meterTokenIds(request: EmbeddingsRequest, { contextWindow = Infinity, figures }: Model): MeteredPrompt {
  const lengths = request.inputs.map(({ length }) => length)
  for (const [n, length] of lengths.entries())
    if (length > contextWindow) throw tooLong(request, n, String(length), contextWindow)
  const tokens = lengths.reduce((sum, length) => sum + length, 0)
  return {
    tokens,
    count: async () => tokens,
    possible: () => tokens + promptTokensMax(promptOf([], lengths.length), figures),
    isUnknown: false,
    ratioTo: () => undefined,
  }
}

/** As providers read it, each input has a frame of its own. */
function promptOf(texts: readonly string[], inputs: number): Prompt {
  return { texts, messages: inputs, images: 0, files: 0, recordings: 0, tools: 0 }
}

async function meterTexts(
  { statistics, chance, work }: Parts,
  call: Sender,
  request: EmbeddingsRequest,
  texts: readonly string[],
  model: Model,
): Promise<MeteredPrompt> {
  const { publisherId } = call.caller
  const { contextWindow = Infinity } = model
  const prompt = promptOf(texts, texts.length)
  const estimate = () => estimateEach(prompt, chance)
  const text =
    call.bodyBytes < LARGE_BODY_BYTES
      ? work.run(publisherId, estimate)
      : await work.runInTurn(publisherId, async () => estimate())
  if (text.tokens > EMBEDDING_TOKENS_MAX * (text.isExact ? 1 : SAMPLE_LEEWAY))
    throw tooManyTokens(`${text.isExact ? '' : 'about '}${text.tokens}`)
  const long = longInputs(texts, contextWindow)
  if (long.length > 0)
    await work.runInTurn(publisherId, (giveWay) => refuseTooLong(request, long, contextWindow, { chance, giveWay }))
  /** As for chat: of a script that the model was not seen to read, the most that is possible is held. */
  const tokensOf = ({ tokens, script }: TextCount, which: 'usual' | 'held') => {
    const ratio = statistics.tokenRatio(model, publisherId, script, which)
    if (ratio === undefined) return which === 'usual' ? tokens : tokensOfAnyTokenizer(prompt, tokens)
    return Math.ceil(tokens * ratio)
  }
  const { script } = text
  let counted: Promise<TextCount> | undefined
  return {
    // A provider refuses what does not fit its window, so more than that need not be held.
    tokens: Math.max(tokensOf(text, 'usual'), Math.min(tokensOf(text, 'held'), texts.length * contextWindow)),
    async count() {
      counted ??= text.isExact
        ? Promise.resolve(text)
        : work.runInTurn(publisherId, async (giveWay) => {
            return { ...text, ...(await countPromptInTurns(prompt, chance, giveWay)) }
          })
      return tokensOf(await counted, 'usual')
    },
    possible: () => promptTokensMax(prompt, model.figures),
    isUnknown: script !== PLAIN && statistics.tokenRatio(model, publisherId, script, 'usual') === undefined,
    ratioTo(reportedTokens) {
      const isReliable = text.isExact && text.tokens >= RATIO_TOKENS_MIN
      return isReliable ? { script, ratio: reportedTokens / text.tokens } : undefined
    },
  }
}

/** No tokenizer joins a control character with what is beside it, unless that is the same, and nobody can foresee which it is. */
const PARTINGS = '\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u000e\u000f\u0010\u0011\u0012\u0013\u0014\u0015\u0016'

/**
 * Providers count each input by itself, and none as less than a token. A sample is of all of them as one text: parted by line ends,
 * inputs that are line ends would be one long run of few tokens.
 */
function estimateEach(prompt: Prompt, chance: () => number): TextCount {
  const { texts } = prompt
  const estimate = estimateTexts(prompt, chance)
  if (estimate.isExact || texts.length === 1) return estimate
  const parting = PARTINGS[Math.floor(chance() * PARTINGS.length)]
  const parted = estimateTexts({ ...prompt, texts: [texts.join(parting)] }, chance)
  return { ...parted, tokens: Math.max(estimate.tokens, parted.tokens, texts.length) }
}

interface LongInput {
  n: number
  text: string
}

/** Inputs that may be longer than the window: a token has at least one byte, and a character at most three. */
function longInputs(texts: readonly string[], contextWindow: number): LongInput[] {
  const entries = texts.entries().map(([n, text]) => ({ n, text }))
  return entries
    .filter(({ text }) => text.length * 3 > contextWindow && Buffer.byteLength(text) > contextWindow)
    .toArray()
}

/** For all of them together: beyond this, samples are counted. */
const COUNTED_CHARACTERS_MAX = 512 * 1024

async function refuseTooLong(
  request: EmbeddingsRequest,
  long: readonly LongInput[],
  contextWindow: number,
  { chance, giveWay }: { chance(): number; giveWay(): Promise<void> },
): Promise<void> {
  const characters = long.reduce((sum, { text }) => sum + text.length, 0)
  const isExact = characters <= COUNTED_CHARACTERS_MAX
  const charactersEach = Math.floor(COUNTED_CHARACTERS_MAX / long.length)
  for (const { n, text } of long) {
    const tokens = isExact
      ? await countTextsInTurns([text], giveWay)
      : await sampleInTurns(text, charactersEach, chance, giveWay)
    if (tokens > contextWindow * (isExact ? 1 : SAMPLE_LEEWAY))
      throw tooLong(request, n, `${isExact ? '' : 'about '}${tokens}`, contextWindow)
  }
}

function tooLong(request: EmbeddingsRequest, n: number, tokens: string, contextWindow: number): ParleyError {
  const path = inputPathOf(request, n)
  const message = `${path} has ${tokens} tokens, but this model reads at most ${contextWindow} of each. Shorten it, or send it in parts.`
  return new ParleyError('prompt_too_long', { message, param: path })
}
