/**
 * The script of a text, as far as tokenizers care. They agree about English within a fifth, and differ by up to thirty times
 * about scripts that one of them was trained on and another was not.
 */
export type Script = string

/** Text that every tokenizer knows well: mostly English. */
export const PLAIN: Script = 'plain'
/** Several scripts, none of which stands out. */
const MIXED: Script = 'mixed'

const BEYOND_ASCII = /[^\0-\x7f]/
/** A text with fewer other characters than this is taken for English with some accents and quotes. */
const PLAIN_SHARE = 0.9
/** The share of the characters beyond ASCII that one script needs to stand for the text. */
const LEADING_SHARE = 0.6

export interface ScriptCount {
  add(text: string): void
  addAll(others: ScriptCount): void
  readonly characters: number
  /** The characters beyond ASCII, in all and by script. */
  readonly beyond: number
  readonly pages: ReadonlyMap<Script, number>
  readonly script: Script
}

export function createScriptCount(): ScriptCount {
  return new Counted()
}

/** A class, because there are several in every call: getters of an object literal take microseconds to make. */
class Counted implements ScriptCount {
  readonly pages = new Map<Script, number>()
  characters = 0
  beyond = 0

  add(text: string): void {
    this.characters += text.length
    if (!BEYOND_ASCII.test(text)) return
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit < 0x80) continue
      this.beyond += 1
      this.#count(pageOf(unit), 1)
    }
  }

  addAll(others: ScriptCount): void {
    this.characters += others.characters
    this.beyond += others.beyond
    for (const [page, count] of others.pages) this.#count(page, count)
  }

  get script(): Script {
    if (this.beyond <= this.characters * (1 - PLAIN_SHARE)) return PLAIN
    const [page, count] = [...this.pages].reduce((most, one) => (one[1] > most[1] ? one : most))
    return count >= this.beyond * LEADING_SHARE ? page : MIXED
  }

  #count(page: Script, times: number): void {
    this.pages.set(page, (this.pages.get(page) ?? 0) + times)
  }
}

/** Scripts of thousands of characters are one; of others, 256 characters of Unicode are about one script. */
function pageOf(unit: number): Script {
  if (unit >= 0x2e80 && unit < 0xa000) return 'east asian'
  if (unit >= 0xac00 && unit < 0xd800) return 'hangul'
  if (unit >= 0xd800 && unit < 0xe000) return 'beyond 16 bits'
  return `page ${(unit >> 8).toString(16)}`
}
