import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { judgeItem } from '../../rules/offers/feed-item.ts'
import type { FeedItem } from './feed-item.ts'
import { FeedError } from '../../rules/offers/feed-error.ts'
import { openFeed } from './feed-items.ts'
import { feedTextOf, ITEM_CHARS_MAX } from './feed-text.ts'
import { foreignLanguageOf } from './item-language.ts'

const terms = { domain: 'nordlicht.example' }

async function* piecesOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let n = 0; n < bytes.length; n += size) yield bytes.subarray(n, n + size)
}

async function read(text: string | Buffer, size = 7): Promise<{ format: string; items: FeedItem[] }> {
  const { format, items } = await openFeed(feedTextOf(piecesOf(Buffer.from(text), size)))
  const all: FeedItem[] = []
  for await (const item of items) all.push(item)
  return { format, items: all }
}

/** Judges the items as an importer does: the same words, whatever the format. */
async function offersIn(text: string | Buffer, size?: number) {
  const { format, items } = await read(text, size)
  const offers = items.map((item) => ('fields' in item ? judgeItem(item.fields, terms) : item))
  return { format, offers }
}

const TSV = `id\ttitle\tdescription\tlink\timage link\tprice\tavailability\tbrand\tproduct type
L1\t"Desk lamp, 24"" arm"\tBright\thttps://nordlicht.example/l1\thttps://nordlicht.example/l1.jpg\t49.00 EUR\tin stock\tNordlicht\tHome > Lighting
L2\tFloor lamp\tTall\thttps://nordlicht.example/l2\t\t99.00 EUR\tout of stock\tNordlicht\tHome > Lighting
`
const CSV = TSV.replaceAll(/[^\t\n]+/g, (cell) => (cell.startsWith('"') ? cell : `"${cell}"`)).replaceAll('\t', ';')
const RSS = `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>Nordlicht</title><link>https://nordlicht.example</link>
<item><title>not this</title><g:title>Desk lamp, 24" arm</g:title><g:id>L1</g:id><g:description><![CDATA[Bright]]></g:description>
<g:link>https://nordlicht.example/l1</g:link><g:image_link>https://nordlicht.example/l1.jpg</g:image_link><g:price>49.00 EUR</g:price>
<g:availability>in stock</g:availability><g:brand>Nordlicht</g:brand><g:product_type>Home &gt; Lighting</g:product_type>
<g:shipping><g:price>5.00 EUR</g:price></g:shipping></item>
<item><g:id>L2</g:id><title>Floor lamp</title><description>Tall</description><link>https://nordlicht.example/l2</link>
<g:price>99.00 EUR</g:price><g:availability>out of stock</g:availability><g:brand>Nordlicht</g:brand>
<g:product_type>Home &gt; Lighting</g:product_type></item></channel></rss>`
const ATOM = RSS.replace(/<rss[^>]*><channel>/, '<feed xmlns="http://www.w3.org/2005/Atom">')
  .replace('</channel></rss>', '</feed>')
  .replaceAll(/<(\/?)item>/g, '<$1entry>')
  .replaceAll(/<link>(.*?)<\/link>/g, '<link rel="alternate" href="$1"/>')
const ITEMS = [
  {
    item_id: 'L1',
    title: 'Desk lamp, 24" arm',
    description: 'Bright',
    url: 'https://nordlicht.example/l1',
    image_url: 'https://nordlicht.example/l1.jpg',
    price: { value: 49, currency: 'EUR' },
    availability: 'in_stock',
    brand: 'Nordlicht',
    product_category: 'Home > Lighting',
  },
  {
    id: 'L2',
    title: 'Floor lamp',
    description: 'Tall',
    link: 'https://nordlicht.example/l2',
    price: '99.00 EUR',
    availability: 'out_of_stock',
    brand: 'Nordlicht',
    productType: 'Home > Lighting',
  },
]
const JSONL = `${ITEMS.map((item) => JSON.stringify(item)).join('\n')}\n`
const PRODUCTS = [
  {
    '@type': 'Product',
    sku: 'L1',
    name: 'Desk lamp, 24" arm',
    description: 'Bright',
    url: 'https://nordlicht.example/l1',
    image: ['https://nordlicht.example/l1.jpg'],
    brand: { '@type': 'Brand', name: 'Nordlicht' },
    category: 'Home > Lighting',
    offers: { '@type': 'Offer', price: 49, priceCurrency: 'EUR', availability: 'https://schema.org/InStock' },
  },
  { '@type': 'BreadcrumbList', name: 'no product', itemListElement: [{ name: '}' }] },
  {
    '@type': ['Product'],
    productID: 'L2',
    name: 'Floor lamp',
    description: 'Tall',
    brand: 'Nordlicht',
    category: 'Home > Lighting',
    offers: [{ url: 'https://nordlicht.example/l2', price: '99.00', priceCurrency: 'EUR', availability: 'OutOfStock' }],
  },
]
const GRAPH = JSON.stringify(
  { '@context': 'https://schema.org', '@graph': PRODUCTS, after: [{ '@type': 'Product' }] },
  null,
  1,
)

const FEEDS: [name: string, format: string, text: string][] = [
  ['tab-separated', 'tsv', TSV],
  ['comma-separated', 'csv', CSV],
  ['RSS', 'xml', RSS],
  ['Atom', 'xml', ATOM],
  ['JSON Lines', 'jsonl', JSONL],
  ['a JSON array', 'json', JSON.stringify(ITEMS)],
  ['a JSON-LD graph', 'json', GRAPH],
  ['a JSON-LD array', 'json', JSON.stringify(PRODUCTS, null, 2)],
]

test('the same two products come out of every format, however the bytes are cut', async () => {
  const { offers } = await offersIn(TSV)
  assert.partialDeepStrictEqual(offers, [
    {
      verdict: 'accepted',
      offer: { itemId: 'L1', title: 'Desk lamp, 24" arm', price: '49.00', category: 'Home > Lighting' },
    },
    { verdict: 'accepted', offer: { itemId: 'L2', availability: 'out_of_stock', imageLink: null, brand: 'Nordlicht' } },
  ])
  const expected = JSON.stringify(offers)
  for (const [name, format, text] of FEEDS) {
    for (const size of [1, 2, 13, 64, 100_000]) {
      const found = await offersIn(text, size)
      assert.equal(found.format, format, name)
      assert.equal(JSON.stringify(found.offers), expected, `${name}, cut every ${size} bytes`)
    }
  }
})

test('packed feeds are unpacked, a byte order mark is no text, and damage is told', async () => {
  const packed = gzipSync(RSS)
  assert.equal((await offersIn(packed)).offers.length, 2)
  assert.equal((await offersIn(`\u{feff}${TSV}`)).offers.length, 2)
  await assert.rejects(read(packed.subarray(0, packed.length - 20)), isFeedError(/gzip archive is damaged/))
  await assert.rejects(read(Buffer.from(`\u{feff}${TSV}`, 'utf16le')), isFeedError(/UTF-16/))
  await assert.rejects(read('  \n '), isFeedError(/empty/))
  await assert.rejects(read('hello'), isFeedError(/none of the known formats/))
})

test('a feed that unpacks to more than the limit ends there', async () => {
  const bomb = gzipSync(Buffer.alloc(3_000_000, 'a'))
  const unpack = async () => {
    for await (const _ of feedTextOf(piecesOf(bomb, 1_000), 1_000_000));
  }
  await assert.rejects(unpack(), isFeedError(/more than 1000000 bytes/))
})

test('a file that was cut off is refused as a whole where the format can tell', async () => {
  for (const text of [RSS, ATOM, JSONL.trimEnd(), JSON.stringify(ITEMS), GRAPH]) {
    await assert.rejects(read(text.slice(0, -30)), FeedError, text.slice(0, 20))
  }
})

test('XML with a document type is refused, so nothing can be expanded or fetched', async () => {
  const lol = `<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss><item><title>&b;</title></item></rss>`
  await assert.rejects(read(lol), isFeedError(/document type/))
  await assert.rejects(
    read('<rss><channel><item><title>&nope;</title></item></channel></rss>'),
    isFeedError(/XML is broken/),
  )
  await assert.rejects(read('<rss><channel></channel></rss>'), isFeedError(/no <item>/))
})

test('one broken or endless item costs only itself', async () => {
  const long = 'x'.repeat(ITEM_CHARS_MAX + 1)
  const lines = await read(`${JSONL}{"id":\n{"id":"${long}"}\n[1]\n${JSONL}`, 65_536)
  assert.deepEqual(
    lines.items.map((item) => ('problem' in item ? item.problem.slice(0, 15) : item.fields.title)),
    ['Desk lamp, 24" arm', 'Floor lamp', 'it is not valid', 'it has more tha', 'Desk lamp, 24" arm', 'Floor lamp'],
  )
  const array = await read(`[{"id":"${long}"},{"id":1,},${JSON.stringify(ITEMS[1])}]`, 65_536)
  assert.deepEqual(
    array.items.map((item) => ('problem' in item ? item.problem.slice(0, 15) : item.fields.title)),
    ['it has more tha', 'it is not valid', 'Floor lamp'],
  )
  const xml = await read(RSS.replace('Bright', `<b/>${'y'.repeat(600_000)}]]><![CDATA[${'y'.repeat(600_000)}`), 65_536)
  assert.deepEqual(
    xml.items.map((item) => 'problem' in item),
    [true, false],
  )
  const table = await read(TSV.replace('\tin stock', '\tin stock\textra'))
  assert.deepEqual(table.items[0], { problem: 'it has 10 columns and the header 9' })
})

test('an element or a cell without an end is told before it fills the memory', async () => {
  await assert.rejects(read(`<rss><item><title>${'z'.repeat(3_000_000)}`, 65_536), isFeedError(/element of more than/))
  await assert.rejects(read(TSV + `L3\t"${'z'.repeat(3_000_000)}`, 65_536), isFeedError(/quotation mark/))
})

test('of several links the one for readers counts, and elements inside a field are its text', async () => {
  const links = '<link rel="self" href="https://nordlicht.example/feed"/><link href="https://nordlicht.example/l1"/>'
  const { items } = await read(`<feed><entry><id>1</id><title>Desk <b>lamp</b>, oak</title>${links}</entry></feed>`)
  assert.partialDeepStrictEqual(items, [{ fields: { title: 'Desk lamp, oak', link: 'https://nordlicht.example/l1' } }])
})

test('a header without the needed columns is told once', async () => {
  await assert.rejects(read('sku;colour\n1;red\n'), isFeedError(/no column title, link, price/))
})

test('variants of a group are items of it, and a list is looked into', async () => {
  const group = {
    '@context': 'https://schema.org',
    '@type': 'ProductGroup',
    productGroupID: 'G',
    name: 'Lamp',
    brand: 'Nordlicht',
    hasVariant: [{ '@type': 'Product', sku: 'G-1', name: 'Lamp, red' }, { sku: 'G-2' }],
  }
  const list = { '@context': 'x', '@type': 'ItemList', itemListElement: [{ '@type': 'ListItem', item: group }] }
  const { items } = await read(JSON.stringify(list))
  const seen = items.map((item) => 'fields' in item && [item.fields.id, item.fields.title, item.fields.item_group_id])
  assert.deepEqual(seen, [
    ['G-1', 'Lamp, red', 'G'],
    ['G-2', 'Lamp', 'G'],
  ])
})

test('words that are clearly not English are recognised, brands and numbers are not taken for a language', () => {
  const german =
    'Schreibtischlampe mit Wireless-Ladefunktion und verstellbarem Arm, dimmbar in fünf Stufen, für das Arbeiten am Abend'
  assert.equal(foreignLanguageOf(german), 'de')
  assert.equal(foreignLanguageOf('デスクランプ ワイヤレス充電 調光機能付き'), 'ja')
  for (const text of [
    'Bosch GSR 18V-55',
    'Canon EOS R6 RF 24-105mm',
    'A bright desk lamp with an adjustable arm and wireless charging for phones',
  ]) {
    assert.equal(foreignLanguageOf(text), undefined, text)
  }
})

function isFeedError(pattern: RegExp) {
  return (error: unknown) => error instanceof FeedError && pattern.test(error.message)
}
