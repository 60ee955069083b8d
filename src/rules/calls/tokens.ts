import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { contentPartsOf, type ChatRequest } from './chat-request.ts'
import { plainTextOf, type Message } from './message.ts'
import { LARGEST_FIGURES, type Figures, type MediaFigures } from '../catalogue/figures.ts'
import { createScriptCount, type Script, type ScriptCount } from './scripts.ts'

/** Longer texts are sampled, or counted in turns: tokenizing a megabyte takes up to two seconds, and would stall every
 * other stream of the process. */
const EXACT_CHARACTERS_MAX = 16 * 1024
/** The tokenizer takes time quadratic in the longest run without a break: 3 s for 64 KiB of one letter. */
const SLICE_CHARACTERS = 512
/** At most about 10 ms of work between two turns. */
const SLICES_PER_TURN = 8

/**
 * The longest prompt that is counted whole where an estimate is not enough. Longer ones are counted in random stretches: a
 * hostile one of 8 MB would take half a minute of everyone's time.
 */
const WHOLE_CHARACTERS_MAX = 512 * 1024
const STRETCHES = 1_024

/** Many short samples instead of a few long ones: a dense passage of one percent of the text is hit by two or three. */
const SAMPLES = 256
const SAMPLE_CHARACTERS = 64
/** A hold that is too large is given back in seconds; one that is too small may be the operator's loss. */
const STANDARD_ERRORS = 4

/** The tokens that the chat format itself adds: a frame around each message, and the opening of the reply. */
const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_REPLY = 3

/** The tokens that a provider may add by itself: its own instructions, and larger frames than ours. */
const FRAME_TOKENS_MAX = 16
const HIDDEN_PROMPT_TOKENS_MAX = 1_024

/** User text that spells a special token is just text. */
const PLAIN_TEXT = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() }

/** The parts of a request that a provider reads, and charges for. */
export interface Prompt {
  /** Every string that is sent on: one that is not counted could carry a megabyte for nothing. */
  readonly texts: readonly string[]
  readonly messages: number
  readonly images: number
  /** Files that are not plain text. */
  readonly files: number
  /** A model's figure for files does not hold for them: a few kilobytes can be hours of silence. */
  readonly recordings: number
  readonly tools: number
}

export function promptOf(request: ChatRequest): Prompt {
  const texts = request.messages.flatMap(textsOf)
  const parts = contentPartsOf(request)
  const files = parts.filter((part) => part.type === 'file')
  const plainTexts = files.map(plainTextOf).filter((text) => text !== undefined)
  texts.push(...plainTexts, ...files.map(({ file }) => file.filename ?? ''))
  if (request.tools) texts.push(JSON.stringify(request.tools))
  if (request.response_format) texts.push(JSON.stringify(request.response_format))
  return {
    texts,
    messages: request.messages.length,
    images: parts.filter(({ type }) => type === 'image_url').length,
    files: files.length - plainTexts.length,
    recordings: parts.filter(({ type }) => type === 'input_audio').length,
    tools: request.tools?.length ?? 0,
  }
}

/** Returns the most tokens that a provider may bill for a prediction on top of the answer: the parts that were wrong. */
export function predictedTokensMax({ prediction }: Pick<ChatRequest, 'prediction'>): number {
  if (!prediction) return 0
  return textsIn(prediction.content).reduce((bytes, text) => bytes + Buffer.byteLength(text), 0)
}

function textsOf(message: Message): string[] {
  const texts = textsIn(message.content)
  if (message.role === 'tool') texts.push(message.tool_call_id)
  if (message.role === 'assistant') {
    if (message.refusal != null) texts.push(message.refusal)
    // Sent back to providers that want it.
    if (message.reasoning_content != null) texts.push(message.reasoning_content)
    if (message.reasoning_signature != null) texts.push(message.reasoning_signature)
    if (message.tool_calls) texts.push(JSON.stringify(message.tool_calls))
  }
  return texts
}

function textsIn(content: Message['content']): string[] {
  if (typeof content === 'string') return [content]
  return (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : []))
}

export interface TextCount {
  tokens: number
  isExact: boolean
  script: Script
}

/** The count of one text. */
export interface CountedText {
  readonly tokens: number
  readonly scripts: ScriptCount
}

/** Texts that were counted before. */
export interface KnownTexts {
  get(text: string): CountedText | undefined
  set(text: string, count: CountedText): void
}

const NONE_KNOWN: KnownTexts = { get: () => undefined, set: () => {} }

/**
 * How many tokens the texts of a prompt have, for its hold. A prompt of which much is new is sampled; `chance` gives numbers from
 * 0 to below 1 that nobody can foresee, or a caller could make the sampled places cheap.
 */
export function estimateTexts({ texts }: Prompt, chance: () => number, known: KnownTexts = NONE_KNOWN): TextCount {
  const counts = texts.map((text) => known.get(text))
  const unknown = texts.reduce((total, text, n) => (counts[n] ? total : total + text.length), 0)
  if (unknown > EXACT_CHARACTERS_MAX) return { ...sampleTokens(texts.join('\n'), chance), isExact: false }
  const scripts = createScriptCount()
  let tokens = 0
  for (const [n, text] of texts.entries()) {
    const count = counts[n] ?? countText(text)
    if (!counts[n]) known.set(text, count)
    tokens += count.tokens
    scripts.addAll(count.scripts)
  }
  return { tokens, isExact: true, script: scripts.script }
}

function countText(text: string): CountedText {
  const scripts = createScriptCount()
  scripts.add(text)
  return { tokens: countTextTokens(text), scripts }
}

/** The most that any tokenizer makes of texts that ours makes so many tokens of: each byte beyond ASCII may be one. */
export function tokensOfAnyTokenizer({ texts }: Prompt, tokens: number): number {
  const bytes = texts.reduce((total, text) => total + Buffer.byteLength(text), 0)
  const characters = texts.reduce((total, text) => total + text.length, 0)
  // A character of two bytes is one more byte than character, and one of three is two more.
  return Math.min(Math.max(bytes, tokens), tokens + 2 * (bytes - characters))
}

/**
 * Returns the tokens of a prompt besides its texts: of frames, images, files and tools. `others` are for a model whose own
 * figures are not stated.
 */
export function tokensBesideText(prompt: Prompt, figures: Figures, others: MediaFigures): number {
  return (
    TOKENS_PER_REPLY +
    TOKENS_PER_MESSAGE * prompt.messages +
    (figures.image ?? others.image) * prompt.images +
    (figures.file ?? others.file) * prompt.files +
    others.file * prompt.recordings +
    (figures.tool ?? others.tool) * prompt.tools
  )
}

/** A token has at least one byte, so no provider can have read more tokens than this. */
export function promptTokensMax(prompt: Prompt, figures: Figures): number {
  const bytes = prompt.texts.reduce((total, text) => total + Buffer.byteLength(text), 0)
  return (
    bytes +
    HIDDEN_PROMPT_TOKENS_MAX +
    FRAME_TOKENS_MAX * prompt.messages +
    (figures.image ?? LARGEST_FIGURES.image) * prompt.images +
    (figures.file ?? LARGEST_FIGURES.file) * prompt.files +
    LARGEST_FIGURES.file * prompt.recordings +
    (figures.tool ?? LARGEST_FIGURES.tool) * prompt.tools
  )
}

/** One sample from each of 256 equal stretches; the mean, and four standard errors on top. */
function sampleTokens(text: string, chance: () => number): Pick<TextCount, 'tokens' | 'script'> {
  const stretch = text.length / SAMPLES
  const scripts = createScriptCount()
  let sum = 0
  let squares = 0
  for (let i = 0; i < SAMPLES; i++) {
    const start = Math.min(Math.floor((i + chance()) * stretch), text.length - SAMPLE_CHARACTERS)
    const sample = text.slice(start, start + SAMPLE_CHARACTERS)
    scripts.add(sample)
    const tokens = countTokens(sample, PLAIN_TEXT)
    sum += tokens
    squares += tokens * tokens
  }
  const mean = sum / SAMPLES
  const standardError = Math.sqrt(Math.max(0, squares / SAMPLES - mean * mean) / SAMPLES)
  const tokens = Math.ceil(((mean + STANDARD_ERRORS * standardError) / SAMPLE_CHARACTERS) * text.length)
  return { tokens, script: scripts.script }
}

/** For short texts: longer ones are counted in turns. */
export function countTextTokens(text: string): number {
  let tokens = 0
  for (const slice of slicesOf(text)) tokens += countTokens(slice, PLAIN_TEXT)
  return tokens
}

/** The exact number, however long the texts are. `giveWay` lets the others have a turn. */
export async function countTextsInTurns(texts: readonly string[], giveWay: () => Promise<void>): Promise<number> {
  let tokens = 0
  let slices = 0
  for (const text of texts) {
    for (const slice of slicesOf(text)) {
      tokens += countTokens(slice, PLAIN_TEXT)
      slices += 1
      if (slices % SLICES_PER_TURN === 0) await giveWay()
    }
  }
  return tokens
}

/** Counts the tokens of a prompt, as far as that can be done in a second: it is not a hold, so nothing is added. */
export async function countPromptInTurns(
  { texts }: Prompt,
  chance: () => number,
  giveWay: () => Promise<void>,
): Promise<Omit<TextCount, 'script'>> {
  const characters = texts.reduce((total, text) => total + text.length, 0)
  if (characters <= WHOLE_CHARACTERS_MAX) return { tokens: await countTextsInTurns(texts, giveWay), isExact: true }
  const text = texts.join('\n')
  return { tokens: await sampleInTurns(text, STRETCHES * SLICE_CHARACTERS, chance, giveWay), isExact: false }
}

/** About how many tokens a text has, of which so many characters are counted, in stretches from all of it. */
export async function sampleInTurns(
  text: string,
  characters: number,
  chance: () => number,
  giveWay: () => Promise<void>,
): Promise<number> {
  const count = Math.max(1, Math.floor(Math.min(characters, text.length) / SLICE_CHARACTERS))
  const stretches = Array.from({ length: count }, (_, i) => stretchAt(text, (i + chance()) / count))
  const seen = stretches.reduce((total, stretch) => total + stretch.length, 0)
  return Math.round(((await countTextsInTurns(stretches, giveWay)) / seen) * text.length)
}

/** Begins and ends with a word, if there is one: a word that is cut counts as more than it is. */
function stretchAt(text: string, place: number): string {
  const from = Math.max(0, Math.min(Math.floor(place * text.length), text.length - SLICE_CHARACTERS))
  const stretch = text.slice(from, from + SLICE_CHARACTERS)
  const [first, last] = [stretch.indexOf(' '), stretch.lastIndexOf(' ')]
  return last - first > SLICE_CHARACTERS / 2 ? stretch.slice(first, last) : stretch
}

/** Cuts where a word begins, which changes nothing, or, in a run without a break, anywhere, which adds a token at most. */
function* slicesOf(text: string): Generator<string> {
  let start = 0
  while (text.length - start > SLICE_CHARACTERS) {
    const space = text.lastIndexOf(' ', start + SLICE_CHARACTERS)
    const end = space > start ? space : start + SLICE_CHARACTERS
    yield text.slice(start, end)
    start = end
  }
  yield text.slice(start)
}
