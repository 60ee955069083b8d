/**
 * What a reader sees of a recommendation: one line after the answer that begins with a label. It is made here and nowhere
 * else, and it cannot be made without a label of the list below, the advertiser's name and a signed link.
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

/** A label of the list: nobody can make another one, or leave it out. */
export type Label = string & { readonly isLabel: unique symbol }

export function labelOf(text: string): Label | undefined {
  return LABELS.some(({ label }) => label === text) ? (text as Label) : undefined
}

export interface Block {
  label: Label
  format: 'markdown' | 'plain'
  advertiser: string
  headline: string
  benefit: string
  price: { amount: string; currency: string } | undefined
  /** Where the gateway answers, without a slash at the end. */
  publicUrl: string
  /** Signed (recommendation-token.ts). */
  token: string
}

/** Stands between the answer and the block, and is taken away with it. */
export const SEPARATOR = '\n\n'

export function renderBlock(block: Block): string {
  const { label, format, publicUrl, token } = block
  const { see, why } = wordingOf(label)
  const [offer, reason] = [`${publicUrl}/r/${token}`, `${publicUrl}/w/${token}`]
  const shown = format === 'markdown' ? escapedLine : plainLine
  // Sentences end here, whether or not the advertiser's did.
  const about = [block.headline, block.benefit].map((text) => shown(text.replace(/[\s.,;:]+$/, ''))).filter(Boolean)
  // Zero is how feeds say "on request".
  const price = block.price && Number(block.price.amount) > 0 ? `, ${shown(priceText(block.price))}` : ''
  const advertiser = shown(block.advertiser)
  if (advertiser === '') throw new Error('A recommendation says whose it is.')
  const text = `${advertiser} — ${about.join(': ')}${price}.`
  if (format === 'markdown') return `**${label}** · ${text} [${see}](${offer}) · [${why}](${reason})`
  return `${label} · ${text} ${see}: ${offer} · ${why} ${reason}`
}

function wordingOf(label: Label) {
  const wordings = Object.values(WORDINGS)
  return wordings.find(({ labels }) => labels.some((each: string) => each === label)) ?? WORDINGS.en
}

/** What one line of text may not contain, whoever wrote it: line ends, controls, and what hides or turns text around. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\u115f\u1160\u3164\uffa0]+/gu

/** Clients make links of addresses, escaped or not: an offer has one link, and it is ours. */
function plainLine(text: string): string {
  return oneLine(text)
    .replaceAll(/:\/\//g, ': ')
    .replaceAll(/\bwww\./gi, 'www ')
    .replaceAll(/(?<=\S)@(?=\S)/g, ' @ ')
}

const MARKUP = /[\\`*_<>~|$#&!{}^=]/g

/** Round brackets for square ones, and none escaped: many chats take what stands between \[ and \], or \( and \), for a formula. */
function escapedLine(text: string): string {
  return plainLine(text)
    .replaceAll('[', '(')
    .replaceAll(']', ')')
    .replaceAll(MARKUP, (character) => `\\${character}`)
}

/** More than any offer has, also in letters that count twice: a line stays a line. */
const COPY_LENGTH_MAX = 220

function oneLine(text: string): string {
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

const TOKEN = /\/r\/([A-Za-z0-9_-]{40})(?![A-Za-z0-9_-])/g
/** A label at its place: the beginning of a block, also when a client has joined the lines or rendered the Markdown. */
const BLOCK_START = new RegExp(
  `(?:\\*\\*|<strong>|<b>)?(?:${LABELS.map(({ label }) => label).join('|')})(?:\\*\\*|</strong>|</b>)? · `,
  'g',
)
/** As far as a label can be from the link after it, with everything escaped. */
const BLOCK_LENGTH_MAX = 2_000
/** As far as the second link can be from the first, whatever the gateway's address. */
const BLOCK_END = /[^\n]{0,600}?\/w\/[A-Za-z0-9_-]{40}(?:\)|">[^<\n]{0,100}<\/a>)?/y
const LINE_ENDS_BEFORE = /\n\n$|(?:\r\n){1,2}$|\n$/

/**
 * The text without the blocks that we have put there, and what those recommended. Only signed links count: nobody can
 * make us remove anything else. What is left of our own answer is the model's, byte for byte. One pass: a body of eight
 * megabytes may be full of links.
 */
export function withoutBlocks<Id>(
  text: string,
  readToken: (token: string) => Id | undefined,
): { text: string; ids: Id[] } {
  if (!text.includes('/r/')) return { text, ids: [] }
  const ids: Id[] = []
  let rest = ''
  let from = 0
  for (const { index, 1: token = '' } of text.matchAll(TOKEN)) {
    const id = index < from ? undefined : readToken(token)
    if (id === undefined) continue
    ids.push(id)
    const { start, end } = extentOf(text, from, index)
    rest += text.slice(from, start).replace(LINE_ENDS_BEFORE, '')
    from = end
  }
  return { text: rest + text.slice(from), ids }
}

/** From the label to the last link of the block, on its line. Without a label in sight the whole line goes. */
function extentOf(text: string, from: number, linkAt: number): { start: number; end: number } {
  const before = text.slice(from, linkAt)
  const lineStart = before.lastIndexOf('\n') + 1
  const searchedFrom = Math.max(lineStart, before.length - BLOCK_LENGTH_MAX)
  const starts = [...before.slice(searchedFrom).matchAll(BLOCK_START)].map(({ index }) => index)
  // A block is a line of its own unless a client has joined lines: then its label is the last one before the link.
  const label = starts[0] === 0 ? 0 : starts.at(-1)
  const start = from + (label === undefined ? lineStart : searchedFrom + label)
  BLOCK_END.lastIndex = linkAt
  if (label !== undefined && BLOCK_END.test(text)) return { start, end: BLOCK_END.lastIndex }
  const lineEnd = text.indexOf('\n', linkAt)
  return { start, end: lineEnd === -1 ? text.length : lineEnd }
}
