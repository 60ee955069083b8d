/** The simulated model's replies: the same words for the same seed and prompt, made of whole tokens that can be counted again. */
import { countTokens, decodeGenerator, encode } from 'gpt-tokenizer/encoding/o200k_base'
import { isRecord } from './record.ts'
import { Refusal } from './refusal.ts'

/** A part of the reply that is valid text by itself. A character that takes several tokens is one piece. */
export interface Piece {
  readonly text: string
  readonly tokens: number
}

export interface Tool {
  readonly name: string
  readonly parameters: unknown
}

export interface Reply {
  /** One per chunk: text, or fragments of the tool's arguments. */
  readonly pieces: readonly Piece[]
  /** Thoughts that come before it, if any. */
  readonly thoughts: readonly Piece[]
  readonly tool: { readonly name: string; readonly nameTokens: number } | undefined
  /** How often the tool is called, each time with the same arguments. */
  readonly calls: number
  readonly finish: 'stop' | 'length' | 'tool'
  readonly tokens: number
}

export interface ReplyOptions {
  readonly seed: number
  readonly prompt: string
  readonly tokens?: number | undefined
  readonly text?: string | undefined
  readonly thoughts?: string | undefined
  readonly utf8?: boolean
  readonly tool?: Tool | undefined
  readonly calls?: number
  readonly chunkTokens?: number
  readonly tokensMax?: number | undefined
}

/** Literal replies are tokenized whole, and the tokenizer is quadratic in the length of an unbroken word. */
const TEXT_CHARACTERS_MAX = 16_384

/** A run that the tokenizer cannot cut. 200,000 equal letters take it 25 s, so such a run is counted in slices. */
const UNBROKEN = /[\p{L}\p{M}]{8000}|\s{8000}|[^\s\p{L}\p{N}]{8000}/u
const SLICE_CHARACTERS = 8000

/** A prompt may name special tokens; to the simulator they are text like any other. */
const AS_TEXT = { disallowedSpecial: new Set<string>() }

export function tokensIn(text: string): number {
  return slicesOf(text).reduce((tokens, slice) => tokens + countTokens(slice, AS_TEXT), 0)
}

/** As many as are counted. */
export function tokenIdsIn(text: string): number[] {
  return slicesOf(text).flatMap((slice) => encode(slice, AS_TEXT))
}

function slicesOf(text: string): string[] {
  if (!UNBROKEN.test(text)) return [text]
  const slices = Math.ceil(text.length / SLICE_CHARACTERS)
  return Array.from({ length: slices }, (_, n) => text.slice(n * SLICE_CHARACTERS, (n + 1) * SLICE_CHARACTERS))
}

export function promptTokensOf(texts: readonly string[]): number {
  return texts.reduce((tokens, text) => tokens + 4 + tokensIn(text), 3)
}

export function hashOf(text: string, seed: number): number {
  let hash = seed ^ 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

export function composeReply(options: ReplyOptions): Reply {
  const random = createRandom(hashOf(options.prompt, options.seed))
  const tool = options.tool && { name: options.tool.name, nameTokens: tokensIn(options.tool.name) }
  const full = options.tool
    ? piecesOf(JSON.stringify(argumentsFor(options.tool.parameters, random)))
    : fullText(options, random)
  const nameTokens = tool?.nameTokens ?? 0
  const calls = tool ? (options.calls ?? 1) : 1
  const kept = cutTo(full, Math.max(0, (options.tokensMax ?? Infinity) - nameTokens))
  return {
    pieces: grouped(kept, options.chunkTokens ?? 1),
    thoughts: grouped(piecesOf(options.thoughts ?? ''), options.chunkTokens ?? 1),
    tool,
    calls: tool ? calls : 0,
    finish: kept.length < full.length ? 'length' : tool ? 'tool' : 'stop',
    tokens: (nameTokens + sumOf(kept)) * calls,
  }
}

function fullText(options: ReplyOptions, random: Random): Piece[] {
  if (options.text !== undefined) return piecesOf(options.text)
  const tokens = options.tokens ?? 20 + random(61)
  return options.utf8 ? multibyteWords(tokens, random) : sentences(tokens, random)
}

// Each word with its space is one token, and the tokenizer never merges across a space:
// a reply of n words re-tokenizes to n tokens, wherever it is cut.
const ADJECTIVES = words('quiet bright small ancient golden gentle curious patient distant simple narrow warm hidden')
const PLACES = words('river garden village mountain market harbor library window forest bridge kitchen')
const SENTENCE = [
  words('The Every One This That Another'),
  ADJECTIVES,
  words('teacher traveler painter lantern clock boat'),
  words('carries follows remembers crosses finds keeps watches opens draws shares'),
  words('the a another'),
  ADJECTIVES,
  words('letter basket story map song stone candle table'),
  words('near behind beyond beside above toward'),
  words('the'),
  PLACES,
  ['.'],
]

function words(list: string): string[] {
  return list.split(' ').map((word) => ` ${word}`)
}

function sentences(tokens: number, random: Random): Piece[] {
  return Array.from({ length: tokens }, (_, at) => {
    const word = oneOf(SENTENCE[at % SENTENCE.length] ?? [], random)
    return { text: at === 0 ? word.trim() : word, tokens: 1 }
  })
}

const MULTIBYTE = words('日本語 漢字 안녕하세요 naïve e\u0301le\u0301gant 👍🏽 👩‍👩‍👧‍👦 🚀 🇯🇵 ñandú नमस्ते 𠮷野家').map(piecesOf)
const MULTIBYTE_SINGLE = words('東京 привет שלום').map(piecesOf)

function multibyteWords(tokens: number, random: Random): Piece[] {
  const pieces: Piece[] = []
  for (let left = tokens; left > 0;) {
    let word = oneOf(MULTIBYTE, random)
    // Only a word of one token is sure to fit into what is left.
    if (sumOf(word) > left) word = oneOf(MULTIBYTE_SINGLE, random)
    pieces.push(...word)
    left -= sumOf(word)
  }
  return pieces
}

function piecesOf(text: string): Piece[] {
  if (text.length > TEXT_CHARACTERS_MAX) {
    throw new Refusal(400, `a literal reply has at most ${TEXT_CHARACTERS_MAX} characters`)
  }
  const pieces: Piece[] = []
  let taken = 0
  function* counted(): Generator<number> {
    // A lone surrogate has no UTF-8 form: what is sent would not be what was counted.
    for (const token of encode(text.toWellFormed(), AS_TEXT)) {
      taken++
      yield token
    }
  }
  for (const part of decodeGenerator(counted())) {
    pieces.push({ text: part, tokens: taken })
    taken = 0
  }
  return pieces
}

function cutTo(pieces: readonly Piece[], tokensMax: number): readonly Piece[] {
  if (sumOf(pieces) <= tokensMax) return pieces
  const kept: Piece[] = []
  let tokens = 0
  for (const piece of pieces) {
    if (tokens + piece.tokens > tokensMax) break
    kept.push(piece)
    tokens += piece.tokens
  }
  // A text cut inside a word can tokenize differently than it did in the whole. It is shortened until both counts agree.
  while (tokensIn(textOf(kept)) !== tokens) tokens -= kept.pop()?.tokens ?? 0
  return kept
}

function grouped(pieces: readonly Piece[], chunkTokens: number): readonly Piece[] {
  if (chunkTokens === 1) return pieces
  const groups: Piece[] = []
  let group: Piece[] = []
  let tokens = 0
  for (const [at, piece] of pieces.entries()) {
    group.push(piece)
    tokens += piece.tokens
    if (tokens < chunkTokens && at < pieces.length - 1) continue
    groups.push({ text: textOf(group), tokens })
    group = []
    tokens = 0
  }
  return groups
}

export function textOf(pieces: readonly Piece[]): string {
  return pieces.map((piece) => piece.text).join('')
}

function sumOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, piece) => sum + piece.tokens, 0)
}

/** Arguments that fit the tool's JSON schema, so that a client which validates them goes on. */
function argumentsFor(schema: unknown, random: Random, depth = 0): unknown {
  const { type, enum: choices, properties, items }: Record<string, unknown> = isRecord(schema) ? schema : {}
  if (Array.isArray(choices)) return choices[0]
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return random(100)
  if (type === 'string') return oneOf(PLACES, random).trim()
  // A schema can be nested without end.
  if (depth === SCHEMA_DEPTH_MAX) return null
  if (type === 'array') return [argumentsFor(items, random, depth + 1)]
  const members = Object.entries(isRecord(properties) ? properties : {})
  return Object.fromEntries(members.map(([name, member]) => [name, argumentsFor(member, random, depth + 1)]))
}

const SCHEMA_DEPTH_MAX = 8

/** A whole number from 0 up to, not including, `below`. */
type Random = (below: number) => number

function createRandom(seed: number): Random {
  // Prompts that differ in one letter have near hashes; without the multiplication their first words would be equal.
  let state = Math.imul(seed ^ (seed >>> 15), 0x2c1b3c6d) | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    // The high bits of the product: the low bits of the state repeat themselves audibly, word for word.
    return Math.floor(((Math.imul(state, 0x9e3779b1) >>> 0) / 2 ** 32) * below)
  }
}

function oneOf<T>(choices: readonly T[], random: Random): T {
  const choice = choices[random(choices.length)]
  if (choice === undefined) throw new Error('there is nothing to choose from')
  return choice
}
