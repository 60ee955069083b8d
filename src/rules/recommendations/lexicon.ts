import { CRISIS_WORDS, HARMLESS_PHRASES, SENSITIVE_WORDS, WORD_GROUPS } from './lexicon-words.ts'

/**
 * Words after which a conversation stays free of recommendations. The head that judges meaning catches far more; words are
 * there because they do not depend on a model, hold in several languages, and are the same tomorrow.
 *
 * A text is read once, word by word, so that its length is all that it costs.
 */

export interface Lexicon {
  /** Returns the kind of the words that were found first; undefined: none. */
  find(text: string): string | undefined
}

interface Phrase {
  kind: string
  words: readonly string[]
}

interface PhraseIndex {
  /** By the whole first word. */
  byWord: Map<string, Phrase[]>
  /** By the first letters of a first word that ends in `*`. */
  byStem: Map<string, Phrase[]>
  /** Ends of words that give them away: "appendicitis". */
  endings: Map<string, string>
}

const STEM_LETTERS = 4
const ASCII = /^[\0-\x7f]*$/
const ENDING_LETTERS_MAX = 9
const WORD = /[\p{L}\p{N}]+/gu
/** Invisible characters that split no word, marks above letters, and apostrophes: "can’t" is "cant". */
const IGNORED = /[\p{Cf}\p{Mn}'’ʼ`´]/gu

const sensitive = createLexicon(SENSITIVE_WORDS, HARMLESS_PHRASES)
const crisis = createLexicon(CRISIS_WORDS, '')

/** Returns the sensitive topic that the words of a text belong to. */
export function sensitiveClassOf(text: string): string | undefined {
  return sensitive.find(text)
}

/** Does an answer send its reader for help? Then nothing is recommended beside it, whatever the question was. */
export function hasCrisisWords(answer: string): boolean {
  return crisis.find(answer) !== undefined
}

/**
 * Phrases are separated by commas. `*` ends the beginning of a word, `*` begins an ending, `_` is any one word, and `@` begins
 * the name of a group of words.
 * Harmless phrases are stepped over: "the great depression" is history.
 */
export function createLexicon(phrases: Readonly<Record<string, string>>, harmless: string): Lexicon {
  const index = indexOf(Object.entries(phrases).flatMap(([kind, list]) => phrasesOf(kind, list)))
  const innocent = indexOf(phrasesOf('harmless', harmless))
  return {
    find(text) {
      const words = wordsOf(text)
      // Most words of a long text were seen before and begin nothing.
      const known = new Map<string, Beginnings | null>()
      for (let at = 0; at < words.length; at++) {
        const word = words[at] ?? ''
        let beginnings = known.get(word)
        if (beginnings === undefined) known.set(word, (beginnings = beginningsOf(index, innocent, word)))
        if (beginnings === null) continue
        const skipped = longestAt(beginnings.innocent, words, at)
        if (skipped > 0) {
          at += skipped - 1
          continue
        }
        const kind = kindAt(beginnings, words, at)
        if (kind !== undefined) return kind
      }
      return undefined
    },
  }
}

/** Everything that a word may begin or end. */
interface Beginnings {
  phrases: readonly Phrase[]
  innocent: readonly Phrase[]
  kind: string | undefined
}

function beginningsOf(index: PhraseIndex, innocent: PhraseIndex, word: string): Beginnings | null {
  const found = {
    phrases: phrasesStartingWith(index, word),
    innocent: phrasesStartingWith(innocent, word),
    kind: kindOfEnding(index, word),
  }
  return found.phrases.length + found.innocent.length > 0 || found.kind !== undefined ? found : null
}

function phrasesStartingWith(index: PhraseIndex, word: string): Phrase[] {
  const stems = index.byStem.get(word.slice(0, STEM_LETTERS)) ?? []
  return [...(index.byWord.get(word) ?? []), ...stems.filter((phrase) => isWord(word, phrase.words[0] ?? ''))]
}

function wordsOf(text: string): readonly string[] {
  const plain = ASCII.test(text)
    ? text.replaceAll("'", '').replaceAll('`', '')
    : text.normalize('NFKD').replace(IGNORED, '')
  return plain.toLowerCase().match(WORD) ?? []
}

function phrasesOf(kind: string, list: string): Phrase[] {
  return list
    .normalize('NFKD')
    .replace(IGNORED, '')
    .split(',')
    .map((phrase) => phrase.trim().split(/\s+/))
    .filter(([first]) => first !== '')
    .flatMap(spellOut)
    .map((words) => ({ kind, words }))
}

/** "my @kin died" is as many phrases as there are kin. */
function spellOut(words: readonly string[]): string[][] {
  const at = words.findIndex((word) => word.startsWith('@'))
  if (at === -1) return [[...words]]
  const group = WORD_GROUPS[words[at] ?? '']
  if (group === undefined) throw new Error(`${words[at]} is no group of words`)
  return group.split(/\s+/).map((word) => words.with(at, word))
}

function indexOf(phrases: readonly Phrase[]): PhraseIndex {
  const index: PhraseIndex = { byWord: new Map(), byStem: new Map(), endings: new Map() }
  for (const phrase of phrases) {
    const first = phrase.words[0] ?? ''
    if (first.startsWith('*')) index.endings.set(first.slice(1), phrase.kind)
    else if (first.endsWith('*')) append(index.byStem, first.slice(0, STEM_LETTERS), phrase)
    else append(index.byWord, first, phrase)
  }
  return index
}

function append(map: Map<string, Phrase[]>, key: string, phrase: Phrase): void {
  const known = map.get(key)
  if (known) known.push(phrase)
  else map.set(key, [phrase])
}

function kindAt({ phrases, kind }: Beginnings, words: readonly string[], at: number): string | undefined {
  for (const phrase of phrases) if (standsAt(phrase, words, at)) return phrase.kind
  return kind
}

function longestAt(phrases: readonly Phrase[], words: readonly string[], at: number): number {
  let longest = 0
  for (const phrase of phrases) {
    if (phrase.words.length > longest && standsAt(phrase, words, at)) longest = phrase.words.length
  }
  return longest
}

function standsAt(phrase: Phrase, words: readonly string[], at: number): boolean {
  // The first word is what the phrase was found by.
  for (let offset = 1; offset < phrase.words.length; offset++) {
    if (!isWord(words[at + offset], phrase.words[offset] ?? '')) return false
  }
  return true
}

function isWord(word: string | undefined, expected: string): boolean {
  if (word === undefined) return false
  if (expected === '_') return true
  return expected.endsWith('*') ? word.startsWith(expected.slice(0, -1)) : word === expected
}

function kindOfEnding(index: PhraseIndex, word: string): string | undefined {
  if (index.endings.size === 0 || word.length <= STEM_LETTERS) return undefined
  for (let letters = STEM_LETTERS; letters <= Math.min(ENDING_LETTERS_MAX, word.length - 1); letters++) {
    const kind = index.endings.get(word.slice(-letters))
    if (kind !== undefined) return kind
  }
  return undefined
}
