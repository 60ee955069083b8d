/** A search for messages as people type it: words, "phrases", and -excluded words or -"phrases". */
export interface TextSearch {
  /** Each is a word or a phrase; all of them have to be there. */
  sought: string[]
  unwanted: string[]
}

export const SEARCH_LENGTH_MAX = 200
/** Each is looked for in every message that might match. */
export const SEARCH_PARTS_MAX = 12

const PART = /(-?)(?:["“”„]([^"“”„]*)["“”„]?|([^\s"“”„]+))/gu

export function textSearchOf(typed: string): TextSearch {
  const sought: string[] = []
  const unwanted: string[] = []
  for (const [, minus, phrase, word] of typed.matchAll(PART)) {
    const part = (phrase ?? word ?? '').trim()
    if (!/[\p{L}\p{N}]/u.test(part)) continue
    if (minus === '-') unwanted.push(part)
    else sought.push(part)
  }
  return { sought, unwanted }
}

/** Undefined when it can be looked for. */
export function problemOf({ sought, unwanted }: TextSearch): string | undefined {
  if (sought.length === 0) return 'Enter at least one word to look for.'
  if (sought.length + unwanted.length > SEARCH_PARTS_MAX) return `At most ${SEARCH_PARTS_MAX} words and phrases.`
  return undefined
}

export interface SnippetPiece {
  text: string
  isMatch: boolean
}

/** Splits a text into pieces at the database's marks: U+0001 before a match, U+0002 after it. */
export function piecesOf(marked: string): SnippetPiece[] {
  const [before = '', ...rest] = marked.split('\u0001')
  const pieces = [{ text: before, isMatch: false }]
  for (const part of rest) {
    const [match = '', after = ''] = part.split('\u0002')
    pieces.push({ text: match, isMatch: true }, { text: after, isMatch: false })
  }
  return pieces.filter(({ text }) => text !== '')
}
