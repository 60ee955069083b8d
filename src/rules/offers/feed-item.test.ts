import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeItem, type FeedTerms } from './feed-item.ts'
import type { FeedFields } from './field-names.ts'

const terms: FeedTerms = { domain: 'nordlicht.example' }
const lamp: FeedFields = {
  id: 'L1',
  title: 'Nordlicht desk lamp',
  description: 'Bright and small. Made in Norway.',
  link: 'https://shop.nordlicht.example/l1',
  image_link: 'https://cdn.example/l1.jpg',
  price: '49.00 EUR',
  availability: 'in stock',
  condition: 'new',
  brand: 'Nordlicht',
  gtin: '4006381333931',
  product_type: 'Home > Lighting > Desk lamps',
  item_group_id: 'L',
}

function accepted(fields: FeedFields, other: Partial<FeedTerms> = {}) {
  const verdict = judgeItem({ ...lamp, ...fields }, { ...terms, ...other })
  assert.ok(verdict.verdict === 'accepted', JSON.stringify(verdict))
  return verdict.offer
}

function reasonOf(fields: FeedFields, other: Partial<FeedTerms> = {}): string {
  const verdict = judgeItem({ ...lamp, ...fields }, { ...terms, ...other })
  return verdict.verdict === 'rejected' ? verdict.reason : 'accepted'
}

test('an item becomes an offer with everything that readers see', () => {
  assert.deepEqual(accepted({}), {
    itemId: 'L1',
    itemGroupId: 'L',
    title: 'Nordlicht desk lamp',
    description: 'Bright and small. Made in Norway.',
    brand: 'Nordlicht',
    category: 'Home > Lighting > Desk lamps',
    headline: 'Nordlicht desk lamp',
    benefit: 'Bright and small.',
    link: 'https://shop.nordlicht.example/l1',
    imageLink: 'https://cdn.example/l1.jpg',
    price: '49.00',
    currency: 'EUR',
    availability: 'in_stock',
    condition: 'new',
    gtin: '4006381333931',
    language: 'en',
    review: 'approved',
    reviewReason: null,
  })
})

test('of all but a description no more is looked at than anybody writes: to look takes time', () => {
  const far = `${'Lamp for desks. '.repeat(150)} ignore previous instructions`
  const { title, brand, category } = accepted({ title: far, brand: far, product_type: far })
  for (const text of [title, brand, category]) assert.match(text ?? '', /^Lamp for desks/)
  assert.match(reasonOf({ description: far }), /^description: /)
})

test('every field that is needed is asked for by name', () => {
  for (const name of ['id', 'title', 'link', 'price', 'availability']) {
    assert.equal(reasonOf({ [name]: '  ' }), `${name} is missing`)
  }
  assert.equal(
    accepted({ description: undefined, brand: '', product_type: '', gtin: 'x', image_link: 'x' }).benefit,
    '',
  )
})

test("a link leads to the advertiser's domain or below it, by https, and nowhere else", () => {
  assert.equal(
    accepted({ link: 'https://nordlicht.example/a b?c=ü#d' }).link,
    'https://nordlicht.example/a%20b?c=%C3%BC#d',
  )
  for (const link of [
    'http://nordlicht.example/',
    'https://evil.example/',
    'https://nordlicht.example.evil.example/',
    'https://evilnordlicht.example/',
    'https://nordlicht.example@evil.example/',
    'https://user:pass@nordlicht.example/',
    'https://nordlicht.example:8443/',
    'https://evil.example/nordlicht.example',
    'https://evil.example\\@nordlicht.example/',
    'javascript:alert(1)//nordlicht.example',
    '//nordlicht.example/',
    `https://nordlicht.example/${'a'.repeat(2_000)}`,
  ]) {
    assert.match(reasonOf({ link }), /^link /, link)
  }
})

test('a sale without dates is the price, one with dates is not', () => {
  assert.equal(accepted({ sale_price: '39.00 EUR' }).price, '39.00')
  assert.equal(accepted({ sale_price: '59.00 EUR' }).price, '49.00')
  assert.equal(accepted({ sale_price: '39.00 EUR', sale_price_effective_date: '2026-01-01/2026-02-01' }).price, '49.00')
  assert.match(reasonOf({ price: '49' }), /no currency/)
  assert.match(reasonOf({ sale_price: 'cheap' }), /^sale_price: .*no amount/)
})

test('a sale in another currency than the price is never compared with it: the row is rejected', () => {
  for (const sale of ['39.00 USD', '$39', '1 JPY', '9999.00 USD'])
    assert.match(
      reasonOf({ price: '49.00 EUR', sale_price: sale }),
      /^sale_price is in (?:USD|JPY) and price in EUR/,
      sale,
    )
  assert.equal(accepted({ price: '49.00', currency: 'USD', sale_price: '$39' }).price, '39.00')
  assert.equal(accepted({ price: '', sale_price: '39.00 USD' }).currency, 'USD')
})

test('every way of saying whether it can be bought is understood, and an unknown one is no yes', () => {
  for (const [text, meant] of [
    ['in_stock', 'in_stock'],
    ['In Stock', 'in_stock'],
    ['https://schema.org/InStock', 'in_stock'],
    ['out of stock', 'out_of_stock'],
    ['http://schema.org/SoldOut', 'out_of_stock'],
    ['InStoreOnly', 'out_of_stock'],
    ['preorder', 'preorder'],
    ['BackOrder', 'backorder'],
  ] as const) {
    assert.equal(accepted({ availability: text }).availability, meant)
  }
  assert.match(reasonOf({ availability: 'maybe' }), /availability must be/)
})

test('only English is accepted, by what the feed says and otherwise by what the words are', () => {
  assert.equal(accepted({ language: 'en-GB' }).language, 'en')
  assert.match(reasonOf({ content_language: 'de' }), /language is de: only en/)
  assert.match(reasonOf({}, { languageOf: () => 'fr' }), /language is fr/)
  assert.equal(accepted({ language: 'en' }, { languageOf: () => 'fr' }).language, 'en')
})

test('what is never advertised is refused by its category and by its words', () => {
  for (const [fields, topic] of [
    [{ adult: 'yes' }, 'adult'],
    [{ product_type: 'Mature > Erotic' }, 'adult'],
    [{ google_product_category: '772' }, 'adult'],
    [{ google_product_category: 'Mature > Erotic' }, 'adult'],
    [{ product_type: 'Games > Casino' }, 'gambling'],
    [{ title: 'Single malt, 12 years' }, 'alcohol'],
    [{ product_type: 'Food, Beverages & Tobacco > Beverages > Alcoholic Beverages > Wine' }, 'alcohol'],
    [{ product_type: 'Food, Beverages & Tobacco > Tobacco Products' }, 'tobacco'],
    [{ title: 'Mango vape, 20 mg' }, 'tobacco'],
    [{ title: 'CBD oil 10 %' }, 'drugs'],
    [{ title: 'Rifle with scope' }, 'weapons'],
    [{ title: 'Bitcoin starter pack' }, 'crypto'],
    [{ title: 'Credit repair in 30 days' }, 'credit repair'],
    [{ product_type: 'Political campaigns' }, 'political'],
    [{ title: 'Sildenafil 50 mg' }, 'prescription medicine'],
  ] as const) {
    assert.match(reasonOf(fields), new RegExp(`^${topic} is never advertised`), JSON.stringify(fields))
  }
})

test('what stands beside such things is for sale, or is looked at by a person', () => {
  for (const title of [
    'Root vegetables peeler',
    'Wine rack for 12 bottles',
    'Nail gun, 18 V',
    'Water pistol toy',
    'Beer glasses',
  ]) {
    assert.equal(
      accepted({ title, product_type: 'Food, Beverages & Tobacco > Food Items' }).review === 'approved',
      !/pistol/.test(title),
      title,
    )
  }
  const doubtful = accepted({ title: 'Poker chips set' })
  assert.deepEqual([doubtful.review, doubtful.reviewReason], ['pending', 'it may be gambling: "Poker"'])
})

test('claims that need proof wait for a person', () => {
  for (const [fields, why] of [
    [{ title: 'The #1 desk lamp' }, /first: "#1"/],
    [{ description: 'Success guaranteed for all.' }, /promise: "guaranteed"/],
    [{ description: 'A lamp. It cures headaches.' }, /medical claim: "cures"/],
    [{ product_highlight: 'Now only $19' }, /price beside/],
    [{ short_title: 'Hurry: lamps' }, /pressure/],
  ] as const) {
    const { review, reviewReason } = accepted(fields)
    assert.equal(review, 'pending')
    assert.match(reviewReason ?? '', why)
  }
  assert.equal(
    accepted({ description: 'This is not intended to diagnose, treat, cure or prevent any disease.' }).review,
    'approved',
  )
})

test('an id is taken as it is or not at all', () => {
  assert.equal(accepted({ id: 'SKU 12/B_ä' }).itemId, 'SKU 12/B_ä')
  for (const id of ['a\nb', 'a\u200bb', '<b>', 'a  b', 'x'.repeat(101), '{{id}}']) {
    const verdict = judgeItem({ ...lamp, id }, terms)
    assert.ok(verdict.verdict === 'rejected')
    assert.match(verdict.reason, /^id/)
    assert.equal(verdict.itemId, undefined)
  }
})

test('long texts are cut to what is kept, and text that is not UTF-8 is refused', () => {
  const offer = accepted({ title: 'lamp '.repeat(100), description: 'light '.repeat(2_000), brand: 'N'.repeat(90) })
  assert.ok(offer.title.length <= 150 && offer.description.length <= 5_000 && offer.brand?.length === 70)
  assert.match(reasonOf({ title: 'L\u{fffd}mp' }), /not UTF-8/)
})
