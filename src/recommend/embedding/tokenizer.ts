import assert from 'node:assert/strict'

/** Words to the numbers that the model learned: BERT's normaliser, its splitting at punctuation, and WordPiece. */

export interface Tokenizer {
  /** At most `max` tokens, the ones that begin and end every text included. */
  encode(text: string, max: number): number[]
  /** How many there would be without a limit. */
  count(text: string): number
}

interface TokenizerFile {
  normalizer: { type: string; lowercase: boolean; strip_accents: boolean | null }
  pre_tokenizer: { type: string }
  model: { type: string; unk_token: string; vocab: Record<string, number> }
}

/** The vocabulary knows no longer word, and a longer one becomes one unknown token. */
const WORD_CHARACTERS_MAX = 100
/** 256 tokens are about 1,200 characters: what lies this far behind is cut before it costs anything. */
const CHARACTERS_PER_TOKEN_MAX = 64

const CONTROL = /[\0\uFFFD]|(?![\t\n\r])\p{C}/gu
const IDEOGRAPH =
  /[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B920}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]/gu
const ACCENT = /\p{Mn}/gu
/** Either one punctuation character or everything up to the next one. ASCII symbols count as punctuation. */
const PIECE = /[!-/:-@[-`{-~\p{P}]|[^\s!-/:-@[-`{-~\p{P}]+/gu

export function createTokenizer(file: string): Tokenizer {
  const { normalizer, pre_tokenizer: splitter, model } = JSON.parse(file) as TokenizerFile
  assert.deepEqual(
    [normalizer.type, normalizer.lowercase, splitter.type, model.type],
    ['BertNormalizer', true, 'BertPreTokenizer', 'WordPiece'],
    'the tokenizer is of another kind than this code',
  )
  const vocabulary = new Map(Object.entries(model.vocab))
  const unknown = idOf(vocabulary, model.unk_token)
  const first = idOf(vocabulary, '[CLS]')
  const last = idOf(vocabulary, '[SEP]')

  function* tokensOf(text: string): Generator<number> {
    for (const [word] of normalized(text).matchAll(PIECE)) yield* piecesOf(word, vocabulary, unknown)
  }

  return {
    encode(text, max) {
      const tokens = [first]
      for (const token of tokensOf(text.slice(0, max * CHARACTERS_PER_TOKEN_MAX))) {
        if (tokens.length === max - 1) break
        tokens.push(token)
      }
      tokens.push(last)
      return tokens
    },
    count(text) {
      let tokens = 2
      for (const _ of tokensOf(text)) tokens++
      return tokens
    },
  }
}

function idOf(vocabulary: Map<string, number>, token: string): number {
  const id = vocabulary.get(token)
  assert(id !== undefined, `the vocabulary has no ${token}`)
  return id
}

function normalized(text: string): string {
  return text.replace(CONTROL, '').replace(IDEOGRAPH, ' $& ').normalize('NFD').replace(ACCENT, '').toLowerCase()
}

/** The longest beginning that the vocabulary knows, then the longest continuation, and so on; unknown as soon as one is missing. */
function piecesOf(word: string, vocabulary: Map<string, number>, unknown: number): number[] {
  const whole = vocabulary.get(word)
  if (whole !== undefined) return [whole]
  const characters = Array.from(word)
  if (characters.length > WORD_CHARACTERS_MAX) return [unknown]
  const pieces: number[] = []
  let start = 0
  while (start < characters.length) {
    const prefix = start === 0 ? '' : '##'
    let end = characters.length
    let id: number | undefined
    for (; end > start && id === undefined; end--) id = vocabulary.get(prefix + characters.slice(start, end).join(''))
    if (id === undefined) return [unknown]
    pieces.push(id)
    // The loop stepped once beyond the end that was found.
    start = end + 1
  }
  return pieces
}
