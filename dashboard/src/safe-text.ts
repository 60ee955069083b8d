/** Decides what in a stranger's text may become a link, and which text is better shown as it was written. */

const PROTOCOLS = new Set(['http:', 'https:', 'mailto:'])
/** Beyond this the parser takes longer than a reader waits. */
const DRAWN_LENGTH_MAX = 50_000
/** Signs in a row that nobody writes, and that make a parser go deep or try everything. */
const EXCESSIVE = /[[\]()!<]{60}|[`~]{60}|[_*]{200}|(?:>[ \t]?){30}|(?:[*+-][ \t]){30}|&{60}|(?:\|[^|\n]*){200}/
const SIGNS = /[[\]()!<>`~_*|]/g
const SIGNS_MAX = 6_000

/** The address, or undefined when it must not be a link: only the web and mail, and never a place of this console. */
export function linkTarget(address: string): string | undefined {
  let url: URL
  try {
    url = new URL(address)
  } catch {
    return undefined
  }
  if (!PROTOCOLS.has(url.protocol)) return undefined
  // A reader of `https://bank.example@evil.example` sees a bank.
  if (url.username !== '' || url.password !== '') return undefined
  return url.href
}

/** Undefined where the words of the link begin with the host already. */
export function hostToShow(href: string, words: unknown): string | undefined {
  const url = new URL(href)
  const host = url.protocol === 'mailto:' ? url.pathname : url.host
  const said = textOf(words).toLowerCase()
  const plain = said.replace(/^(?:https?:\/\/|mailto:)/, '')
  const isSaid = plain === host || plain.startsWith(`${host}/`) || plain.startsWith(`${host}?`)
  return isSaid ? undefined : host
}

function textOf(words: unknown): string {
  if (typeof words === 'string') return words
  return Array.isArray(words) ? words.map(textOf).join('') : ''
}

/** Signs that turn the direction of text around: they could make a line read as another one. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g

export function withVisibleControls(text: string): string {
  return text.replaceAll(TURNING, (sign) => `[U+${sign.charCodeAt(0).toString(16).toUpperCase()}]`)
}

export function isDrawable(text: string): boolean {
  if (text.length > DRAWN_LENGTH_MAX || EXCESSIVE.test(text)) return false
  return (text.match(SIGNS)?.length ?? 0) <= SIGNS_MAX && deepestIndent(text) <= 60
}

/** Nested lists are nested elements. */
function deepestIndent(text: string): number {
  let deepest = 0
  for (const [indent] of text.matchAll(/^[ \t]+(?=[-*+\d>])/gm)) deepest = Math.max(deepest, indent.length)
  return deepest
}
