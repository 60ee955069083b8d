/**
 * An advertiser's words are somebody else's text inside a publisher's reply. Here they become one plain line: no control
 * or invisible characters, no tags, no addresses. Escaping for Markdown is done where the line is rendered.
 *
 * Whether a text may be used at all is copy-problems.ts, which must see it before it is cleaned: cleaning would take away
 * the very marks by which an attempt is recognised.
 */
import { cutAtWord } from './search-text.ts'

export const HEADLINE_CHARS_MAX = 60
export const BENEFIT_CHARS_MAX = 110

/** More of one field than this is not looked at, so that a hostile row costs no time. */
const RAW_CHARS_MAX = 20_000
/** Feeds often hold text that was escaped twice. */
const ROUNDS_MAX = 4

/** Shown as nothing, though Unicode calls them letters, marks or symbols: fillers, joiners and variation selectors. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu
const LINE_BREAKS_AND_BLANKS = /[\s\u0085\u2800]+/gu
/** Controls, zero-width and bidi characters, tags, private use, half surrogates, and what Unicode has not assigned. */
const CONTROLS = /\p{C}/gu
const TAG = /<(script|style)\b[^<>]*>[^]*?<\/\1\s*>|<!--[^]*?(?:-->|$)|<!\[CDATA\[|\]\]>|<[/!?]?[a-z][^<>]*(?:>|$)/giu
const STACKED_MARKS = /(\p{M}{2})\p{M}+/gu

/** Neither looks beyond the next bracket that opens: of a text of nothing but brackets, each would look through all that follow. */
const IMAGE = /!\[[^[\]]{0,300}\](?:\([^)[]{0,2000}\)|\[[^[\]]{0,300}\])/g
const LINK = /\[([^[\]]{0,300})\](?:\([^)[]{0,2000}\)|\[[^[\]]{0,300}\])/g
const ADDRESSES = [
  /[\p{L}\p{N}+.-]{0,40}:\/\/\S*/giu,
  /\b(?:javascript|vbscript|data|mailto|tel|sms|file|about|blob):[^\s,;]\S*/giu,
  /\bwww\.\S+/giu,
  /\S{1,64}@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/giu,
  /(?<![\p{L}\p{N}])[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){0,4}\.(?:com|net|org|io|co|shop|store|app|dev|ai|info|biz|me|xyz|online|site|link|click|top|ly|gg|de|fr|es|it|nl|pl|ru|cn|jp|in|br|us|uk|eu|ch|at|be|se|no|dk|fi|au|ca)(?![\p{L}\p{N}-])(?:[/?#:]\S*)?/giu,
]
const PHONES = [
  /(?<![\p{L}\p{N}])(?:\+|00)[1-9][\d\s()./·•‧-]{6,20}\d/gu,
  /(?<![\p{L}\p{N}.-])(?:1[-. ])?\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}(?![\d.-])/gu,
  /(?<![\p{L}\p{N}.-])1-8\d\d-[A-Z0-9-]{4,12}/gu,
  /(?<![\p{L}\p{N}.-])\(?0\d{2,4}\)?[ /-]\d{3,}(?:[ -]?\d{2,}){0,3}(?![\d.-])/gu,
]

/** One line that is fit to be shown, or an empty one. */
export function cleanCopy(raw: string): string {
  let text = withoutMarkup(raw.slice(0, RAW_CHARS_MAX))
  text = text.replaceAll(IMAGE, ' ').replaceAll(LINK, '$1 ')
  for (const address of [...ADDRESSES, ...PHONES]) text = text.replaceAll(address, ' ')
  return (
    text
      .replaceAll(/[<>`\\]/g, ' ')
      .replaceAll(/\*\*+|~~+|__+/g, '')
      // Escaped more often than anybody does by mistake.
      .replaceAll(/&#?[a-z0-9]{1,10};/gi, ' ')
      .replaceAll(STACKED_MARKS, '$1')
      .normalize('NFC')
      .replaceAll(LINE_BREAKS_AND_BLANKS, ' ')
      // The remains of a link or a heading.
      .replaceAll(/\(\s*\)|\[\s*\]/g, '')
      .replace(/^[\s#*_~=|+.,;:·•–—-]+/u, '')
      .replaceAll(/ {2,}/g, ' ')
      .replaceAll(/ +([,;.!?])/g, '$1')
      .trim()
  )
}

/** Without tags, however often they were escaped, and without characters that nobody sees. Line breaks are blanks. */
function withoutMarkup(raw: string): string {
  let text = raw
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const before = text
    text = withoutInvisible(plainForms(decodeEntities(text))).replaceAll(TAG, ' ')
    if (text === before) break
  }
  return text
}

/** Written by people who mean them, and worth keeping. */
const KEPT_FORMS = new Set('™℠²³¹ªº…№')
const BEYOND_ASCII = /[^\0-\x7f]/gu

/** Full-width, circled, mathematical and other forms of the characters of a keyboard become these. */
function plainForms(text: string): string {
  return text.replaceAll(BEYOND_ASCII, (form) => {
    const plain = form.normalize('NFKC')
    return KEPT_FORMS.has(form) || /[^\x21-\x7e]/.test(plain) ? form : plain
  })
}

/** Is there an address or a telephone number that only shows when full-width and similar characters are read as plain ones? */
export function hidesAddress(raw: string): boolean {
  const decoded = decodeEntities(raw)
  if (decoded.search(BEYOND_ASCII) === -1) return false
  const seen = withoutInvisible(decoded)
  const read = seen.normalize('NFKC').replaceAll('。', '.')
  if (read === seen) return false
  return [...ADDRESSES, ...PHONES].some((pattern) => read.match(pattern)?.some((found) => !seen.includes(found)))
}

/** NFC, blanks for everything that breaks a line, and nothing for what cannot be seen. */
export function withoutInvisible(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll(LINE_BREAKS_AND_BLANKS, ' ')
    .replaceAll(INVISIBLE, '')
    .replaceAll(CONTROLS, '')
}

const ENTITIES: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  trade: '™',
  reg: '®',
  copy: '©',
  deg: '°',
  euro: '€',
  pound: '£',
  rsquo: '’',
  lsquo: '‘',
  rdquo: '”',
  ldquo: '“',
  middot: '·',
  bull: '•',
  times: '×',
  eacute: 'é',
  uuml: 'ü',
  ouml: 'ö',
  auml: 'ä',
  szlig: 'ß',
  zwj: '',
  zwnj: '',
  shy: '',
}

export function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]{2,8}));/gi, (whole, hex, decimal, name) => {
    if (typeof name === 'string') return ENTITIES[name.toLowerCase()] ?? whole
    const point = typeof hex === 'string' ? Number.parseInt(hex, 16) : Number(decimal)
    return point <= 0x10ffff ? String.fromCodePoint(point) : ''
  })
}

/** "Electronics > Audio > Headphones": each part is cleaned by itself, because the sign between them is one of a tag. */
export function cleanCategory(raw: string): string {
  const parts = decodeEntities(raw.slice(0, RAW_CHARS_MAX))
    .split(/\s+(?:>|›|»|\/|\|)\s+|(?<=[^<\s])>(?=[^>])/u)
    .map(cleanCopy)
    .filter((part) => part !== '')
  return parts.join(' > ')
}

/** Returns the part of a title that comes first in a recommendation. */
export function headlineOf(title: string): string {
  return cutAtWord(title, HEADLINE_CHARS_MAX).replace(/[\s,;:–—|/&+(-]+$/u, '')
}

/** The first sentence, or as much of it as there is room for. */
export function benefitOf(text: string): string {
  const [sentence = ''] = text.split(/(?<=[.!?])\s+(?=[\p{Lu}\d])/u, 1)
  if (sentence.length <= BENEFIT_CHARS_MAX) return sentence.replace(/[\s,;:]+$/u, '')
  return `${cutAtWord(sentence, BENEFIT_CHARS_MAX - 1).replace(/[\s,;:–—(-]+$/u, '')}…`
}
