import { eld } from 'eld/extrasmall'

/**
 * Is a text clearly English? The heads that keep sensitive conversations free of recommendations learned from English, so
 * that anything else, and anything in doubt, gets none. A wrong "no" costs one recommendation, a wrong "yes" may cost a reader.
 *
 * `eld` tells languages apart by n-grams (the smallest of its tables: 29 MB of heap, 0.3 s to load, 30 us a phrase). Two
 * words are little for it, so that a phrase where English comes in second may pass by words that hardly any other
 * language has.
 */

const CHARACTERS_MAX = 4000
/** A part that long can be told apart for itself: one sentence of another language makes a text a mixed one. */
const PART_LETTERS_MIN = 24
const FOREIGN_LETTERS_SHARE_MAX = 0.05
const SYMBOLS_SHARE_MAX = 0.12
/** How far English may lie behind the first: with nothing else to go by, and with a word that is only English. */
const MARGIN = 0.03
const MARGIN_WITH_CUE = 0.12
const ENGLISH_MIN = 0.4

const LETTER = /\p{L}/gu
const FOREIGN_LETTER = /(?!\p{Script=Latin})\p{L}/gu
/** Symbols that programs are made of and sentences are not. */
const SYMBOL = /[{}[\]<>=;\\|_~^`#*]/g
const CODE = /```|=>|\(\)|;\s*$|^\s*(?:import|const|let|var|def|function|class|select|from|return)\b.*[(){}=;*]/im
const LINK = /\b(?:https?:\/\/|www\.)\S+/gi
const PARTS = /[.!?\n]+\s*/
const WORD = /[\p{L}']+/gu

const CUES = new Set(
  `the and what which with need should would could my your our this that these those how where when why who buy cheap
   cheaper good better looking look recommend recommendation recommendations suggest suggestions thanks thank please want
   i'm i've don't can't it's for of to is are any some under between size kids dad mom mum shoes boots jacket chair desk
   gaming laptop phone headphones speaker camera bike watch gift ideas budget versus review reviews wireless waterproof
   kitchen machine maker cleaner light weight travel trip flights things near home room bed table coffee running hiking`.split(
    /\s+/,
  ),
)

export function isEnglish(text: string): boolean {
  const plain = text.slice(0, CHARACTERS_MAX).replace(LINK, ' ')
  const letters = plain.match(LETTER)?.length ?? 0
  if (letters < 2 || looksLikeCode(plain)) return false
  if ((plain.match(FOREIGN_LETTER)?.length ?? 0) > letters * FOREIGN_LETTERS_SHARE_MAX) return false
  if (!isEnglishPart(plain)) return false
  const parts = plain.split(PARTS).filter((part) => (part.match(LETTER)?.length ?? 0) >= PART_LETTERS_MIN)
  return parts.every(isEnglishPart)
}

function looksLikeCode(text: string): boolean {
  return CODE.test(text) || (text.match(SYMBOL)?.length ?? 0) > text.length * SYMBOLS_SHARE_MAX
}

function isEnglishPart(part: string): boolean {
  const result = eld.detect(part)
  if (result.language === 'en') return true
  const scores = result.getScores()
  const english = scores['en'] ?? 0
  const behind = Math.max(0, ...Object.values(scores)) - english
  if (english < ENGLISH_MIN) return false
  return behind <= (hasCue(part) ? MARGIN_WITH_CUE : MARGIN)
}

function hasCue(part: string): boolean {
  return (
    part
      .toLowerCase()
      .match(WORD)
      ?.some((word) => CUES.has(word)) ?? false
  )
}
