/** Small files that were made to fill the importer's memory, or to keep it busy for hours. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { FeedError } from '../../src/rules/offers/feed-error.ts'
import type { Store } from '../../src/store/database.ts'
import { parley } from '../support/commands.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { addShop, importText, itemOf, type Shop } from '../support/feeds.ts'

let database: TestDatabase
let store: Store
let shop: Shop

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'feed bombs test', poolMax: 2 })
  shop = await addShop(store.db, 'Nordlicht')
})
after(async () => {
  await store.close()
  await database.drop()
})

const GOOD = itemOf('good')
const xmlItem = (inside: string) => `<item>${inside}</item>`
const GOOD_XML = xmlItem(
  Object.entries(GOOD)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join(''),
)
const rss = (inside: string) => `<rss><channel>${inside}</channel></rss>`
const times = (count: number, text: (n: number) => string) => Array.from({ length: count }, (_, n) => text(n)).join('')
const deepXml = () => gzipSync(`<rss><channel>${'<a>'.repeat(10_000_000)}`)

test('the command survives a 29 kB archive of ten million nested elements, and says in one line what is wrong', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'parley-bomb-'))
  try {
    const file = join(directory, 'bomb.xml.gz')
    await writeFile(file, deepXml())
    const target = ['--advertiser', 'Nordlicht', '--campaign', 'All', '--feed', 'main']
    const { code, stdout, stderr } = await parley(['offers', 'import', ...target, file], {
      env: {
        DATABASE_URL: database.url,
        PARLEY_SECRET: 'a-secret-of-the-feed-bombs-test-which-is-long',
        NODE_OPTIONS: '--max-old-space-size=64',
      },
    })
    assert.deepEqual([code, stdout], [1, ''], stderr.slice(0, 500))
    assert.match(stderr, /^[^\n]*nested deeper than 32 elements[^\n]*\n$/)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

const REFUSED: [name: string, bytes: () => string | Buffer, reason: RegExp][] = [
  ['nested elements', deepXml, /nested deeper than 32 elements/],
  ['nested elements of an item', () => rss(xmlItem(`<title>${'<b>'.repeat(400_000)}`)), /nested deeper than 32/],
  ['attributes', () => `<rss ${times(200_000, (n) => `a${n}="" `)}></rss>`, /more than 100 attributes/],
  ['an archive', () => gzipSync(rss(`<a>${'x'.repeat(1_000)}</a>`.repeat(30_000))), /more than 200 times its size/],
  ['blanks', () => gzipSync(' '.repeat(40_000_000)), /empty/],
  ['columns', () => `id,title,link,price,${times(100_000, (n) => `c${n},`)}\n`, /more than 500 columns/],
]

test('a feed that is a bomb is refused as a whole, before it takes more than a moment', async () => {
  for (const [name, bytes, reason] of REFUSED) {
    const feed = bytes()
    const started = performance.now()
    await assert.rejects(importText(store.db, shop, feed), (error: unknown) => {
      assert.ok(error instanceof FeedError, `${name}: ${String(error)}`)
      assert.match(error.message, reason)
      return true
    })
    assert.ok(performance.now() - started < 5_000, name)
  }
})

const long = 'x'.repeat(60_000)
const jsonOf = (fields: object) => JSON.stringify({ ...itemOf('bad'), ...fields })
const jsonLinesOf = (bad: string) => `${bad}\n${JSON.stringify(GOOD)}\n`
const nested = (open: string, close: string) => `${open.repeat(100_000)}1${close.repeat(100_000)}`
const group = { '@type': 'ProductGroup', productGroupID: 'G', name: 'Lamp', description: 'x'.repeat(40_000) }
const { id, title, link, price } = GOOD

const ITEMS: [name: string, text: () => string, reason: RegExp][] = [
  ['XML fields', () => rss(xmlItem(times(40_000, (n) => `<f${n}>x</f${n}>`)) + GOOD_XML), /more than 500 fields/],
  [
    'XML markup',
    () => rss(xmlItem(`<title>${'<b>x</b>'.repeat(200_000)}</title>`) + GOOD_XML),
    /more than 1000000 characters/,
  ],
  ['an XML field', () => rss(xmlItem(`<title>${long}</title>`) + GOOD_XML), /a field of more than 50000 characters/],
  ['nested JSON arrays', () => jsonLinesOf(`{"id":${nested('[', ']')}}`), /nested deeper than 16 levels/],
  [
    'a nested JSON document',
    () => `[{"id":${nested('[{"a":', '}]')}},${JSON.stringify(GOOD)}]`,
    /deeper than 16 levels/,
  ],
  ['JSON keys', () => jsonLinesOf(`{${times(60_000, (n) => `"f${n}":1,`)}"id":"x"}`), /more than 20000 fields/],
  ['JSON fields', () => jsonLinesOf(`{${times(600, (n) => `"f${n}":1,`)}"id":"x"}`), /more than 500 fields/],
  ['a JSON field', () => jsonLinesOf(jsonOf({ description: long })), /a field of more than 50000 characters/],
  [
    'a CSV cell',
    () => `id,title,link,price,availability\nbad,${long},x,1 EUR,x\n${[id, title, link, price].join(',')},in_stock\n`,
    /a field of more than 50000 characters/,
  ],
]

test('an item that is a bomb is rejected with the reason, and the item after it is taken', async () => {
  for (const [name, text, reason] of ITEMS) {
    const { counts, rejections } = await importText(store.db, await addShop(store.db, name), text())
    assert.match(rejections[0]?.reason ?? '', reason, name)
    assert.deepEqual([counts.rejected, counts.added], [1, 1], name)
  }
})

test('a group of very many variants costs no more than the first 500', async () => {
  const variants = `,"hasVariant":[${'{},'.repeat(200_000)}{}]}`
  const feed = jsonLinesOf(JSON.stringify(group).replace(/}$/, variants))
  const { counts, rejections } = await importText(store.db, await addShop(store.db, 'Variants'), feed)
  assert.deepEqual([counts.rejected, counts.added], [501, 1])
  assert.ok(rejections.length <= 100)
})
