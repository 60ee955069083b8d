/** One item of a feed: what its fields are called, what they must hold, and what becomes of it. */
import { copyProblemOf } from './copy-problems.ts'
import { FIELD_NAMES, fieldOf, type FeedFields, type FieldName } from './field-names.ts'
import { parsePrice, type MerchantPrice } from './merchant-price.ts'
import { benefitOf, cleanCategory, cleanCopy, headlineOf, withoutInvisible } from './copy.ts'
import { policyVerdictOf } from './policy.ts'
import { cutAtWord, type FeedOffer } from './search-text.ts'

export interface FeedTerms {
  /** The advertiser's: links lead there or below. */
  domain: string
  /** Says which language a text is in, or undefined when it cannot tell. */
  languageOf?: (text: string) => string | undefined
  /** For prices that state none. */
  currency?: string
}

export type ItemVerdict =
  | { verdict: 'accepted'; offer: FeedOffer }
  | { verdict: 'rejected'; itemId: string | undefined; reason: string }

export const LANGUAGES_ACCEPTED: readonly string[] = ['en']
const ITEM_ID_CHARS_MAX = 100
const LINK_CHARS_MAX = 2_000
const TITLE_CHARS_MAX = 150
const DESCRIPTION_CHARS_MAX = 5_000
const BRAND_CHARS_MAX = 70
const CATEGORY_CHARS_MAX = 750
/** More than this is looked at of a description alone, which may be a page of HTML: to look takes time. */
const SHORT_CHARS_MAX = 2_000

const AVAILABILITIES: Record<string, FeedOffer['availability']> = {
  instock: 'in_stock',
  available: 'in_stock',
  limitedavailability: 'in_stock',
  onlineonly: 'in_stock',
  outofstock: 'out_of_stock',
  unavailable: 'out_of_stock',
  soldout: 'out_of_stock',
  discontinued: 'out_of_stock',
  instoreonly: 'out_of_stock',
  reserved: 'out_of_stock',
  preorder: 'preorder',
  presale: 'preorder',
  backorder: 'backorder',
  madetoorder: 'backorder',
}
const CONDITIONS: Record<string, FeedOffer['condition']> = {
  new: 'new',
  refurbished: 'refurbished',
  used: 'used',
  damaged: 'used',
}

/** A reason for a rejection, thrown from the depth of one field and caught at the item. */
class Unfit extends Error {}

export function judgeItem(fields: FeedFields, terms: FeedTerms): ItemVerdict {
  const itemId = fieldOf(fields, 'id')
  try {
    return { verdict: 'accepted', offer: offerOf(fields, terms) }
  } catch (error) {
    if (!(error instanceof Unfit)) throw error
    // A reason may quote the feed, and it is kept and shown like everything else of it.
    const reason = withoutInvisible(error.message)
    return { verdict: 'rejected', itemId: isPlainId(itemId) ? itemId : undefined, reason }
  }
}

function offerOf(fields: FeedFields, terms: FeedTerms): FeedOffer {
  const itemId = idOf(fields, 'id') ?? missing('id')
  if (/^(?:true|yes|y|1)$/i.test(fieldOf(fields, 'adult')))
    throw new Unfit('adult is never advertised here (adult: yes)')
  const categories = categoriesOf(fields)
  const words = wordsOf(fields, categories)
  const link = linkOf(fieldOf(fields, 'link'), terms.domain)
  const price = priceOf(fields, terms)
  const language = languageOf(fields, `${words.title}. ${words.description}`, terms)
  const policy = policyVerdictOf({ ...words, category: categories.join(' > '), ...categoryIdOf(fields) })
  if (policy?.verdict === 'rejected') throw new Unfit(policy.reason)
  return {
    itemId,
    itemGroupId: idOf(fields, 'group') ?? null,
    ...words,
    brand: words.brand === '' ? null : words.brand,
    link,
    imageLink: imageLinkOf(fieldOf(fields, 'imageLink')),
    price: price.amount,
    currency: price.currency,
    availability: availabilityOf(fieldOf(fields, 'availability')),
    condition: CONDITIONS[wordOf(fieldOf(fields, 'condition')).replace(/condition$/, '')] ?? null,
    gtin: gtinOf(fieldOf(fields, 'gtin')),
    language,
    review: policy === undefined ? 'approved' : 'pending',
    reviewReason: policy?.reason ?? null,
  }
}

function wordsOf(fields: FeedFields, categories: readonly string[]) {
  const title = cutAtWord(copyOf(fields, 'title'), TITLE_CHARS_MAX)
  if (title === '') missing('title')
  const description = cutAtWord(copyOf(fields, 'description'), DESCRIPTION_CHARS_MAX)
  const shortTitle = copyOf(fields, 'shortTitle')
  const highlight = copyOf(fields, 'highlight')
  const benefit = benefitOf(highlight === '' ? description : highlight)
  return {
    title,
    description,
    brand: cutAtWord(copyOf(fields, 'brand'), BRAND_CHARS_MAX),
    category: categories[0] ?? '',
    headline: headlineOf(shortTitle === '' ? title : shortTitle) || title.slice(0, 1),
    // A shop that copies the title into the description has nothing to add.
    benefit: benefit.toLowerCase() === title.toLowerCase() ? '' : benefit,
  }
}

function missing(what: string): never {
  throw new Unfit(`${what} is missing`)
}

/** Judged as it came, then cleaned. */
function copyOf(fields: FeedFields, name: FieldName): string {
  const raw = name === 'description' ? fieldOf(fields, name) : fieldOf(fields, name).slice(0, SHORT_CHARS_MAX)
  if (raw.includes('\u{fffd}')) throw new Unfit(`${FIELD_NAMES[name][0]} is not UTF-8: save the file as UTF-8`)
  const problem = copyProblemOf(raw)
  if (problem !== undefined) throw new Unfit(`${FIELD_NAMES[name][0]}: ${problem}`)
  return cleanCopy(raw)
}

/** Ids say which item it is, so they are refused rather than mended. */
function idOf(fields: FeedFields, name: 'id' | 'group'): string | undefined {
  const id = fieldOf(fields, name)
  if (id === '') return undefined
  const label = FIELD_NAMES[name][0]
  if (!isPlainId(id)) throw new Unfit(`${label} must be 1 to ${ITEM_ID_CHARS_MAX} plain characters`)
  const problem = copyProblemOf(id)
  if (problem !== undefined) throw new Unfit(`${label}: ${problem}`)
  return id
}

function isPlainId(id: string): boolean {
  if (id.length < 1 || id.length > ITEM_ID_CHARS_MAX || withoutInvisible(id) !== id) return false
  return /^[\p{L}\p{N}\p{M}._:/+#=@~()&,-]+(?: [\p{L}\p{N}\p{M}._:/+#=@~()&,-]+)*$/u.test(id)
}

/** All that it is called, the shop's own words first; the number of a taxonomy is nothing that anybody can read. */
function categoriesOf(fields: FeedFields): string[] {
  return FIELD_NAMES.category.flatMap((name) => {
    const raw = fields[name]?.trim().slice(0, SHORT_CHARS_MAX) ?? ''
    if (raw === '' || /^\d+$/.test(raw)) return []
    const problem = copyProblemOf(raw)
    if (problem !== undefined) throw new Unfit(`${name}: ${problem}`)
    return [cutAtWord(cleanCategory(raw), CATEGORY_CHARS_MAX)]
  })
}

function categoryIdOf(fields: FeedFields): { categoryId?: string } {
  const raw = fieldOf(fields, 'taxonomy')
  return /^\d+$/.test(raw) ? { categoryId: raw } : {}
}

function linkOf(text: string, domain: string): string {
  if (text === '') missing('link')
  // Before it is parsed: reading a long name takes time quadratic in its length.
  if (text.length > LINK_CHARS_MAX) throw new Unfit(`link is longer than ${LINK_CHARS_MAX} characters`)
  // A shop's own export may name the page alone.
  const url = URL.parse(text, /^\/[^/\\]/.test(text) ? `https://${domain}` : undefined)
  if (url?.protocol !== 'https:') throw new Unfit('link must be an https address')
  if (url.username !== '' || url.password !== '' || url.port !== '') {
    throw new Unfit('link must hold no user name, password or port')
  }
  const { hostname } = url
  if (hostname !== domain && !hostname.endsWith(`.${domain}`)) {
    throw new Unfit(`link leads to ${hostname.slice(0, 100)}, which is not ${domain} or below it`)
  }
  if (url.href.length > LINK_CHARS_MAX) throw new Unfit(`link is longer than ${LINK_CHARS_MAX} characters`)
  return url.href
}

/** Not shown yet, so a broken one is no reason to refuse the item. */
function imageLinkOf(text: string): string | null {
  const url = text.length > LINK_CHARS_MAX ? null : URL.parse(text)
  return url?.protocol === 'https:' && url.username === '' && url.href.length <= LINK_CHARS_MAX ? url.href : null
}

/**
 * A sale without dates is what a buyer pays. One with dates may be over when somebody reads the recommendation, so the
 * regular price counts: better to name too much than too little.
 */
function priceOf(fields: FeedFields, terms: FeedTerms): MerchantPrice {
  const regular = fieldOf(fields, 'price')
  const sale = fieldOf(fields, 'salePeriod') === '' ? fieldOf(fields, 'salePrice') : ''
  if (regular === '' && sale === '') missing('price')
  const currency = fieldOf(fields, 'currency') || terms.currency
  const [price, reduced] = [
    regular === '' ? undefined : parsePrice(regular, currency),
    sale === '' ? undefined : parsePrice(sale, currency),
  ]
  if (typeof price === 'string') throw new Unfit(price)
  if (typeof reduced === 'string') throw new Unfit(`sale_price: ${reduced}`)
  if (price && reduced && price.currency !== reduced.currency)
    throw new Unfit(`sale_price is in ${reduced.currency} and price in ${price.currency}: write both in one currency`)
  const lower = reduced && (!price || Number(reduced.amount) < Number(price.amount)) ? reduced : price
  return lower ?? missing('price')
}

function availabilityOf(text: string): FeedOffer['availability'] {
  if (text === '') missing('availability')
  const known = AVAILABILITIES[wordOf(text)]
  if (known === undefined) {
    throw new Unfit(
      `availability must be in_stock, out_of_stock, preorder or backorder, not "${cleanCopy(text).slice(0, 30)}"`,
    )
  }
  return known
}

/** "https://schema.org/InStock", "in stock" and "in_stock" are one word. */
function wordOf(text: string): string {
  return (text.split('/').at(-1) ?? '').toLowerCase().replaceAll(/[^a-z]/g, '')
}

function gtinOf(text: string): string | null {
  const digits = text.replaceAll(/[\s-]/g, '')
  return /^\d{8,14}$/.test(digits) ? digits : null
}

/**
 * Returns the language that the feed states or, where it states none, the one that the words are in: feeds that state none
 * are often not in English.
 */
function languageOf(fields: FeedFields, text: string, terms: FeedTerms): string {
  const said = /^[a-z]{2}(?=$|[-_])/i.exec(fieldOf(fields, 'language'))?.[0].toLowerCase()
  const language = said ?? terms.languageOf?.(text) ?? 'en'
  if (LANGUAGES_ACCEPTED.includes(language)) return language
  throw new Unfit(`language is ${language}: only ${LANGUAGES_ACCEPTED.join(', ')} is accepted for now`)
}
