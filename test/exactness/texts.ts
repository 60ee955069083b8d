import type { Random } from '../support/random.ts'

/** Prompts as people and attackers write them. Long ones are where a count can be led astray. */

const WORDS =
  'the quick brown fox jumps over a lazy dog near river bank while seven old wizards quietly mix strange jugs'
/** The longest run that a simulated provider counts as one, because of the time that it takes. */
const RUN_CHARACTERS = 6_000

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

export function prose(random: Random, characters: number): string {
  const words = WORDS.split(' ')
  let text = ''
  while (text.length < characters) text += ` ${random.pick(words)}${random.next() < 0.08 ? '.' : ''}`
  return text.trim()
}

export function blanks(random: Random, characters: number): string {
  const blank = random.pick([' ', '\n', ' \n'])
  const run = blank.repeat(RUN_CHARACTERS / blank.length)
  return `Look:${run} and`.repeat(Math.ceil(characters / RUN_CHARACTERS)).slice(0, characters)
}

export function repetition(random: Random, characters: number): string {
  const unit = random.pick(['ha'.repeat(400).concat(' '), 'kitchen table and a ', '¡olé! ', '== '])
  return unit.repeat(Math.ceil(characters / unit.length)).slice(0, characters)
}

/** As a file in base64 looks, with the line breaks that such text has. */
export function binary(random: Random, characters: number): string {
  let text = ''
  while (text.length < characters) {
    for (let i = 0; i < 76; i++) text += LETTERS[random.int(LETTERS.length)]
    text += '\n'
  }
  return text
}

export function chinese(random: Random, characters: number): string {
  let text = ''
  while (text.length < characters)
    text += String.fromCharCode(0x4e00 + random.int(0x5000)) + (random.next() < 0.1 ? '。 ' : '')
  return text
}

/** A script that some tokenizers hardly know. */
export function georgian(random: Random, characters: number): string {
  const words = 'გამარჯობა მსოფლიო დღეს კარგი ამინდია და ჩვენ მივდივართ ქალაქში რომ ვიყიდოთ პური ყველი და ღვინო'.split(
    ' ',
  )
  let text = ''
  while (text.length < characters) text += ` ${random.pick(words)}`
  return text.trim()
}

/** Cheap where 32 evenly spread slices were once taken, and dear everywhere else. */
export function evading(random: Random, characters: number): string {
  const letters = prose(random, characters).slice(0, characters).split('')
  for (let i = 0; i < 32; i++) {
    const from = Math.floor((i * (letters.length - 512)) / 31)
    letters.fill(' ', from, from + 512)
  }
  return letters.join('')
}

/** A dense passage somewhere in a sea of blanks. */
export function island(random: Random, characters: number): string {
  const sea = blanks(random, characters)
  const passage = chinese(random, Math.floor(characters / 30))
  const at = random.int(characters - passage.length)
  return sea.slice(0, at) + passage + sea.slice(at + passage.length)
}

export const LONG_TEXTS = [prose, blanks, repetition, binary, chinese, evading, island]
