import { TOKEN_CHARS } from './link-token.ts'

/**
 * A recommendation as a reader sees it: one line after the answer that begins with a label. It is made here and nowhere else,
 * and it cannot be made without a label of the list below, the advertiser's name and a signed link.
 */

/** Words that tell a reader what this is, and the fixed words around the offer in the same language. */
const WORDINGS = {
  en: { labels: ['Ad', 'Advertisement', 'Sponsored'], see: 'See offer', why: 'Why this ad?' },
  de: { labels: ['Anzeige', 'Werbung'], see: 'Zum Angebot', why: 'Warum diese Anzeige?' },
  fr: { labels: ['Publicité', 'Annonce'], see: 'Voir l’offre', why: 'Pourquoi cette publicité ?' },
  es: { labels: ['Publicidad', 'Anuncio'], see: 'Ver oferta', why: '¿Por qué este anuncio?' },
  it: { labels: ['Pubblicità', 'Annuncio'], see: 'Vedi l’offerta', why: 'Perché questo annuncio?' },
  nl: { labels: ['Advertentie'], see: 'Bekijk aanbieding', why: 'Waarom deze advertentie?' },
  pl: { labels: ['Reklama'], see: 'Zobacz ofertę', why: 'Dlaczego ta reklama?' },
  pt: { labels: ['Anúncio'], see: 'Ver oferta', why: 'Por que este anúncio?' },
  sv: { labels: ['Annons'], see: 'Se erbjudandet', why: 'Varför denna annons?' },
  ja: { labels: ['広告'], see: '詳細を見る', why: 'この広告について' },
  zh: { labels: ['广告'], see: '查看详情', why: '为什么显示此广告？' },
} as const

export const LABELS: readonly { language: string; label: string }[] = Object.entries(WORDINGS).flatMap(
  ([language, { labels }]) => labels.map((label) => ({ language, label })),
)

/** How the second link asks, in every language. */
export const WHY_QUESTIONS: readonly string[] = Object.values(WORDINGS).map(({ why }) => why)

/** A label of the list: nobody can make another one, or leave it out. */
export type Label = string & { readonly isLabel: unique symbol }

export function labelOf(text: string): Label | undefined {
  return LABELS.some(({ label }) => label === text) ? (text as Label) : undefined
}

/** An offer as readers see it. */
export interface ShownOffer {
  format: 'markdown' | 'plain'
  advertiser: string
  headline: string
  benefit: string
  price: { amount: string; currency: string } | undefined
}

export interface Block extends ShownOffer {
  label: Label
  /** Where the gateway answers, without a slash at the end. */
  publicUrl: string
  /** Made for the words of this block (link-token.ts). */
  token: string
}

/** Stands between the answer and the block, and is taken away with it. */
export const SEPARATOR = '\n\n'

export function renderBlock(block: Block): string {
  const { label, format, publicUrl, token } = block
  const { see, why } = wordingOf(label)
  const [offer, reason] = [`${publicUrl}/r/${token}`, `${publicUrl}/w/${token}`]
  const text = textOf(block)
  if (format === 'markdown') return `**${label}** · ${text} [${see}](${offer}) · [${why}](${reason})`
  return `${label} · ${text} ${see}: ${offer} · ${why} ${reason}`
}

/** Returns the words that the token of a block is made for. */
export function wordsOfBlock(offer: ShownOffer): string {
  return wordsIn(textOf(offer))
}

function textOf(offer: ShownOffer): string {
  const shown = offer.format === 'markdown' ? escapeLine : plainLine
  // Sentences end here, whether or not the advertiser's did.
  const about = [offer.headline, offer.benefit].map((text) => shown(text.replace(/[\s.,;:]+$/, ''))).filter(Boolean)
  // Zero is how feeds say "on request".
  const price = offer.price && Number(offer.price.amount) > 0 ? `, ${shown(priceText(offer.price))}` : ''
  const advertiser = shown(offer.advertiser)
  if (advertiser === '') throw new Error('A recommendation needs an advertiser.')
  return `${advertiser} — ${about.join(': ')}${price}.`
}

function wordingOf(label: Label) {
  const wordings = Object.values(WORDINGS)
  return wordings.find(({ labels }) => labels.some((each: string) => each === label)) ?? WORDINGS.en
}

/**
 * The characters that one line of text may not contain, no matter who wrote it: line ends, controls, and those that hide or
 * turn text around.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\u115f\u1160\u3164\uffa0]+/gu

/** Clients make links of addresses, escaped or not: an offer has one link, and it is ours. So is the dot after a label. */
function plainLine(text: string): string {
  return toOneLine(text)
    .replaceAll('·', '•')
    .replaceAll(/:\/\//g, ': ')
    .replaceAll(/\bwww\./gi, 'www ')
    .replaceAll(/(?<=\S)@(?=\S)/g, ' @ ')
}

const MARKUP = /[\\`*_<>~|$#&!{}^=]/g

/** Round brackets for square ones, and none escaped: many chats take what stands between \[ and \], or \( and \), for a formula. */
function escapeLine(text: string): string {
  return plainLine(text)
    .replaceAll('[', '(')
    .replaceAll(']', ')')
    .replaceAll(MARKUP, (character) => `\\${character}`)
}

/** More than any offer has, also in letters that count twice: a line stays a line. */
const COPY_LENGTH_MAX = 220

function toOneLine(text: string): string {
  return text.slice(0, COPY_LENGTH_MAX).normalize('NFC').replaceAll(UNSEEN, ' ').replaceAll(/\s+/g, ' ').trim()
}

/** "€249.00": the recommendation is in English, whatever its label. */
function priceText({ amount, currency }: { amount: string; currency: string }): string {
  let format = PRICE_FORMATS.get(currency)
  if (!format) PRICE_FORMATS.set(currency, (format = new Intl.NumberFormat('en', { style: 'currency', currency })))
  return format.format(Number(amount))
}

/** Making one takes longer than all the rest of a recommendation. There are as many as currencies. */
const PRICE_FORMATS = new Map<string, Intl.NumberFormat>()

const TOKEN = `[A-Za-z0-9_-]{${TOKEN_CHARS}}`
const FIRST_LINK = new RegExp(`/r/(${TOKEN})(?![A-Za-z0-9_-])`, 'g')
/** A label at its place: the beginning of a block, also when a client has joined the lines or rendered the Markdown. */
const BLOCK_START = new RegExp(
  `(?:\\*\\*|<strong>|<b>)?(?:${LABELS.map(({ label }) => label).join('|')})(?:\\*\\*|</strong>|</b>)? · `,
  'g',
)
const SEE = Object.values(WORDINGS).map(({ see }) => see)
const WHY = WHY_QUESTIONS.map((why) => why.replaceAll('?', String.raw`\?`)).join('|')
const ORIGIN = String.raw`([^\s()<>"]{1,300})`
/**
 * The text after the first token, in Markdown, plain and rendered by a client; captures the origin and the token of the
 * second.
 */
const AFTER_FIRST_TOKEN = new RegExp(
  [
    String.raw`\) · \[(?:${WHY})\]\(${ORIGIN}/w/(${TOKEN})\)`,
    ` · (?:${WHY}) ${ORIGIN}/w/(${TOKEN})(?![A-Za-z0-9_-])`,
    String.raw`"[^<>\n]{0,200}>(?:${SEE.join('|')})</a> · <a [^<>\n]{0,200}?href="${ORIGIN}/w/(${TOKEN})"[^<>\n]{0,200}>(?:${WHY})</a>`,
  ].join('|'),
  'y',
)
const LINK_OPENINGS = SEE.flatMap((see) => [` [${see}](`, ` ${see}: `])
const ANCHOR_OPENING = / <a [^<>\n]{0,200}$/
const ANCHOR_CHARS_MAX = 210
/** As far as a label can be from the link after it, with everything escaped. */
const BLOCK_LENGTH_MAX = 2_000
const LINE_ENDS_BEFORE = /\n\n$|(?:\r\n){1,2}$|\n$/

/**
 * The text without the blocks that we have put there, and what those recommended. A block is taken out only if its token
 * was made for its very words, which `readLine` says: nobody can make us remove anything else, and what is left of our own
 * answer is the model's, byte for byte. One pass, and a signature only for what has the form of a block: a body of eight
 * megabytes may be full of links.
 */
export function withoutBlocks<Id>(
  text: string,
  readLine: (token: string, words: string) => Id | undefined,
): { text: string; ids: Id[] } {
  if (!text.includes('/r/')) return { text, ids: [] }
  const starts = text.matchAll(BLOCK_START)
  let nextStart = starts.next()
  let start: RegExpExecArray | undefined
  const ids: Id[] = []
  let rest = ''
  let from = 0
  for (const link of text.matchAll(FIRST_LINK)) {
    const links = linksAt(text, link)
    if (links === undefined) continue
    while (!nextStart.done && nextStart.value.index < links.start) {
      start = nextStart.value
      nextStart = starts.next()
    }
    if (start === undefined || start.index < from) continue
    const shown = text.slice(start.index + start[0].length, links.start)
    const isOneLine = links.start - start.index <= BLOCK_LENGTH_MAX && !/\n|:\/\//.test(shown)
    const id = isOneLine ? readLine(links.token, wordsIn(shown)) : undefined
    if (id === undefined) continue
    ids.push(id)
    rest += text.slice(from, start.index).replace(LINE_ENDS_BEFORE, '')
    from = links.end
  }
  return { text: rest + text.slice(from), ids }
}

/** Where the two links of a block begin and end, if this is the first of two that belong together. */
function linksAt(text: string, first: RegExpExecArray): { start: number; end: number; token: string } | undefined {
  const { 0: path, 1: token = '', index } = first
  AFTER_FIRST_TOKEN.lastIndex = index + path.length
  const second = AFTER_FIRST_TOKEN.exec(text)
  if (!second) return undefined
  const [origin = '', secondToken] = second.slice(1).filter((found) => found !== undefined)
  const originAt = index - origin.length
  if (secondToken !== token || !text.startsWith(origin, originAt)) return undefined
  const opening = second[0].startsWith('"')
    ? ANCHOR_OPENING.exec(text.slice(Math.max(0, originAt - ANCHOR_CHARS_MAX), originAt))?.[0]
    : LINK_OPENINGS.find((each) => text.endsWith(each, originAt))
  return opening === undefined
    ? undefined
    : { start: originAt - opening.length, end: AFTER_FIRST_TOKEN.lastIndex, token }
}

const ENTITIES: Record<string, string> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&#x27;': "'",
}

/** The same whether a client sends the Markdown back or what it has rendered from it. */
function wordsIn(shown: string): string {
  return shown
    .replaceAll('\\', '')
    .replaceAll(/&(?:amp|lt|gt|quot|#39|#x27);/g, (entity) => ENTITIES[entity] ?? entity)
    .replaceAll(/\s+/g, ' ')
    .trim()
}
