/** E13: whatever an advertiser puts into whichever field of whichever format, the catalogue holds plain lines for readers. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { copyProblemOf } from '../../src/rules/offers/copy-problems.ts'
import type { Store } from '../../src/store/database.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { addShop, importText, jsonLines, type Item } from '../support/feeds.ts'
import { readInjections, type Injection } from '../support/injections.ts'

const injections = readInjections()

/** Fields whose words may be shown, searched or embedded; nothing that speaks to an assistant may come through one. */
const WORD_FIELDS = [
  'id',
  'title',
  'description',
  'brand',
  'product_type',
  'item_group_id',
  'short_title',
  'product_highlight',
]
const OTHER_FIELDS = [
  'link',
  'image_link',
  'price',
  'sale_price',
  'currency',
  'availability',
  'condition',
  'gtin',
  'language',
  'adult',
]

interface Attempt {
  id: string
  field: string
  injection: Injection
  item: Item
}

const attempts: Attempt[] = injections.flatMap((injection, n) =>
  [...WORD_FIELDS, ...OTHER_FIELDS].map((field): Attempt => {
    const id = field === 'id' ? injection.text : `${n}-${field}`
    const value = field.endsWith('link') ? `https://nordlicht.example/${injection.text}` : injection.text
    const item = {
      id,
      title: 'Desk lamp',
      description: 'Bright and small.',
      link: 'https://nordlicht.example/l',
      price: '49.00 EUR',
      availability: 'in_stock',
      language: 'en',
      [field]: value,
    }
    return { id, field, injection, item }
  }),
)

const COLUMNS = [...new Set(attempts.flatMap(({ item }) => Object.keys(item)))]
const rowsWith = (sign: string) => (items: readonly Item[]) =>
  [COLUMNS, ...items.map((item) => COLUMNS.map((name) => item[name] ?? ''))]
    .map((cells) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(sign))
    .join('\n')
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const elements = (item: Item) =>
  Object.entries(item)
    .map(([name, value]) => `<g:${name}>${escaped(value ?? '')}</g:${name}>`)
    .join('')
const product = (item: Item) => ({
  '@type': 'Product',
  sku: item.id,
  name: item.title,
  description: item.description,
  brand: { name: item.brand },
  category: item.product_type,
  inProductGroupWithID: item.item_group_id,
  url: item.link,
  image: item.image_link,
  gtin: item.gtin,
  inLanguage: item.language,
  offers: {
    price: item.price,
    priceCurrency: item.currency,
    availability: item.availability,
    itemCondition: item.condition,
  },
})

const FORMATS: Record<string, (items: readonly Item[]) => string> = {
  tsv: rowsWith('\t'),
  csv: rowsWith(','),
  xml: (items) =>
    `<rss xmlns:g="http://base.google.com/ns/1.0"><channel>${items.map((item) => `<item>${elements(item)}</item>`).join('')}</channel></rss>`,
  jsonl: jsonLines,
  json: (items) => JSON.stringify({ '@context': 'https://schema.org', '@graph': items.map(product) }),
}

/** XML has no way to write these, so a feed that has them is broken as a whole. */
const NOT_IN_XML = /(?![\t\n\r])\p{Cc}/u

let database: TestDatabase
let store: Store

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'injections test', poolMax: 2 })
})
after(async () => {
  await store.close()
  await database.drop()
})

test('the corpus is large, has both kinds, and no text twice', () => {
  assert.ok(injections.length >= 120)
  assert.equal(new Set(injections.map(({ text }) => text)).size, injections.length)
  for (const outcome of ['rejected', 'cleaned']) {
    assert.ok(injections.filter((injection) => injection.outcome === outcome).length >= 50)
  }
})

for (const [format, written] of Object.entries(FORMATS)) {
  test(`nothing that speaks to an assistant comes out of a ${format} feed, and every text is one plain line`, async () => {
    const shop = await addShop(store.db, `Shop ${format}`)
    const tried = attempts.filter(({ injection }) => format !== 'xml' || !NOT_IN_XML.test(injection.text))
    const feed = written(tried.map(({ item }) => item))
    const { counts } = await importText(store.db, shop, feed, { isRemovalConfirmed: true })
    assert.equal(counts.rows, tried.length)
    const offers = await store.db
      .selectFrom('offers')
      .selectAll()
      .where('advertiser_id', '=', shop.advertiserId)
      .execute()
    assert.equal(offers.length, counts.added)
    const accepted = new Set(offers.map((offer) => offer.item_id))
    for (const { id, field, injection } of tried) {
      if (injection.outcome === 'cleaned' || !WORD_FIELDS.includes(field)) continue
      // schema.org has no name for these two.
      if (format === 'json' && ['short_title', 'product_highlight'].includes(field)) continue
      assert.ok(!accepted.has(id.trim()), `${field}: ${JSON.stringify(injection.text)}`)
    }
    const cleaned = tried.filter(
      ({ injection, field, id }) => injection.outcome === 'cleaned' && field === 'title' && accepted.has(id),
    )
    assert.ok(cleaned.length > 60, 'what can be cleaned is accepted, so that refusing everything passes no test')
    for (const offer of offers) expectPlain(offer)
  })
}

type Row = Record<string, string | number | Date | Buffer | null>

function expectPlain(offer: Row): void {
  for (const [column, value] of Object.entries(offer)) {
    if (typeof value !== 'string') continue
    assert.doesNotMatch(value, /[\p{C}\u2028\u2029]|\p{Default_Ignorable_Code_Point}/u, column)
  }
  for (const column of ['title', 'description', 'brand', 'headline', 'benefit'] as const) {
    const text = textOf(offer, column)
    assert.doesNotMatch(text, /[<>`]|:\/\/|\bwww\.|\S@\S+\.\S|\]\(/, `${column}: ${text}`)
    assert.equal(copyProblemOf(text), undefined, `${column}: ${text}`)
  }
  assert.doesNotMatch(textOf(offer, 'category'), /[<`]|:\/\//)
  assert.match(textOf(offer, 'link'), /^https:\/\/nordlicht\.example\/[\x21-\x7e]*$/)
}

function textOf(offer: Row, column: string): string {
  const value = offer[column] ?? ''
  assert.ok(typeof value === 'string')
  return value
}

test('what was refused is told in plain lines too', async () => {
  const runs = await store.db.selectFrom('feed_runs').select('rejections').execute()
  const reasons = runs.flatMap(({ rejections }) => rejections as { item: string | null; reason: string }[])
  assert.ok(reasons.length > 100)
  for (const { item, reason } of reasons) assert.doesNotMatch(`${item}${reason}`, /[\p{C}\u2028\u2029]/u)
})
