/**
 * For what others wrote and people read on a terminal or in a file: a control character could rewrite the screen, a
 * direction mark turn an address around, an invisible letter make two names look alike. The two joiners stay, because
 * Persian, Hindi and emoji are written with them.
 */
const UNSEEN = /(?![\n\t\u200c\u200d])[\p{C}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu

/** A mark stands for each character that cannot be seen. Line breaks and tabs stay. */
export function visibleText(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(UNSEEN, '\u{fffd}')
}

/** The same document for whoever parses it. */
export function visibleJson(json: string): string {
  return json.replaceAll(UNSEEN, (character) =>
    Array.from({ length: character.length }, (_, n) => character.charCodeAt(n))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
