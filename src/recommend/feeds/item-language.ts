import { eld } from 'eld/extrasmall'

const CHARS_MAX = 400
/** Less is mostly brands and model numbers, in which no language can be told. */
const LETTERS_MIN = 60
/** How far English must lie behind. An item is refused for its language only when there is little doubt. */
const MARGIN = 0.15
const OTHER_SCRIPT_SHARE_MIN = 0.5

const LETTER = /\p{L}/gu
const OTHER_SCRIPT = /(?!\p{Script=Latin})\p{L}/gu

/**
 * The language of a product's words if it is clearly not English, undefined otherwise. The opposite of what is asked of a
 * conversation, which must clearly be English: titles such as "Bosch GSR 18V-55" are in no language.
 */
export function foreignLanguageOf(text: string): string | undefined {
  const plain = text.slice(0, CHARS_MAX)
  const letters = plain.match(LETTER)?.length ?? 0
  const isOtherScript = (plain.match(OTHER_SCRIPT)?.length ?? 0) > letters * OTHER_SCRIPT_SHARE_MIN
  if (letters < LETTERS_MIN && !isOtherScript) return undefined
  const { language, getScores } = eld.detect(plain)
  if (language === '' || language === 'en') return undefined
  const scores = getScores()
  const ahead = (scores[language] ?? 0) - (scores['en'] ?? 0)
  return ahead >= MARGIN || isOtherScript ? language.slice(0, 2) : undefined
}
