/** How well a typed text fits a name: letters in order, best where words begin and where letters are adjacent. */
export interface Match {
  score: number
  /** Positions of the matched letters in the text. */
  at: number[]
}

const LETTER = 1
const AFTER_THE_LAST = 4
const WORD_START = 5
const TEXT_START = 2
const WHOLE = 5
const SKIPPED = 0.1

/** Undefined: it does not fit. A word has to begin where one of the text's does, or to stand in the text as it is. */
export function matchOf(typed: string, text: string): Match | undefined {
  const letters = folded(text)
  const words = wordsOf(typed)
  if (words.length === 0) return undefined
  const found = words.map((word) => matchOfWord(word, letters))
  if (found.some((match) => match === undefined)) return undefined
  return {
    score: found.reduce((sum, match) => sum + (match?.score ?? 0), 0),
    at: [...new Set(found.flatMap((match) => match?.at ?? []))].toSorted((a, b) => a - b),
  }
}

export function wordsOf(typed: string): string[] {
  return typed
    .split(/\s+/)
    .map((word) => folded(word).join(''))
    .filter((word) => word !== '')
}

/** One for each UTF-16 unit, without case and accents, so that a place in it is a place in the text. */
function folded(text: string): string[] {
  return text.split('').map((letter) => letter.normalize('NFD').slice(0, 1).toLowerCase())
}

function matchOfWord(word: string, letters: readonly string[]): Match | undefined {
  let best = letters.map((letter, at): Match | undefined =>
    letter === word[0] && (isWordStart(letters, at) || isWholeAt(word, letters, at))
      ? { score: placeScore(letters, at), at: [at] }
      : undefined,
  )
  for (const wanted of word.slice(1))
    best = letters.map((letter, at) => (letter === wanted ? extended(best, letters, at) : undefined))
  return bestOf(best.map((match) => match && withBonus(match)))
}

function withBonus({ score, at }: Match): Match {
  const isUnbroken = at.every((place, n) => place === (at[0] ?? 0) + n)
  return { score: isUnbroken ? score + WHOLE : score, at }
}

/** The best way to come from any earlier letter to this one. */
function extended(before: readonly (Match | undefined)[], letters: readonly string[], at: number): Match | undefined {
  const ways = before.slice(0, at).map((match, from): Match | undefined => {
    if (match === undefined) return undefined
    const step = from === at - 1 ? AFTER_THE_LAST : -SKIPPED * (at - from - 1)
    return { score: match.score + step + placeScore(letters, at), at: [...match.at, at] }
  })
  return bestOf(ways)
}

function placeScore(letters: readonly string[], at: number): number {
  return LETTER + (isWordStart(letters, at) ? WORD_START : 0) + (at === 0 ? TEXT_START : 0)
}

function isWordStart(letters: readonly string[], at: number): boolean {
  return isInWord(letters[at]) && !isInWord(letters[at - 1])
}

function isInWord(letter: string | undefined): boolean {
  return letter !== undefined && /[\p{L}\p{N}]/u.test(letter)
}

function isWholeAt(word: string, letters: readonly string[], at: number): boolean {
  return letters.slice(at, at + word.length).join('') === word
}

function bestOf(matches: readonly (Match | undefined)[]): Match | undefined {
  return matches.reduce((a, b) => (b !== undefined && (a === undefined || b.score > a.score) ? b : a), undefined)
}
