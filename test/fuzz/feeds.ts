/** Product feeds that went wrong: read as a shop's file is, and a part of them stored. A sentence for the shop, or offers. */
import { gzipSync } from 'node:zlib'
import { FEED_FORMATS } from '../../src/recommend/feeds/feed-format.ts'
import { FeedError } from '../../src/rules/offers/feed-error.ts'
import { openFeed } from '../../src/recommend/feeds/feed-items.ts'
import { feedTextOf } from '../../src/recommend/feeds/feed-text.ts'
import { judgeItem } from '../../src/rules/offers/feed-item.ts'
import { isUnavailable } from '../../src/store/database.ts'
import { createTestDatabase, openTestStore } from '../support/database.ts'
import { addShop, importText, inPieces, itemOf, jsonLines } from '../support/feeds.ts'
import type { Random } from '../support/random.ts'
import { mutatedBytes, smallerBytes } from './bytes.ts'
import { minimised, textOf, type Part } from './part.ts'
import { mutated, written } from './values.ts'

const ITEMS = ['one', 'two', 'three'].map((id) => ({
  ...itemOf(id),
  sale_price: '39.00 EUR',
  image_link: `https://nordlicht.example/${id}.jpg`,
  product_type: 'Home > Lighting',
  brand: 'Nordlicht',
}))
const NAMES = Object.keys(ITEMS[0]!)
const rowsOf = (sign: string) =>
  [NAMES, ...ITEMS.map((item) => NAMES.map((name) => (item as Record<string, string>)[name] ?? ''))]
    .map((row) => row.join(sign))
    .join('\n')
const entry = (item: object) =>
  Object.entries(item).map(([name, value]) => `<g:${name}>${String(value).replaceAll('>', '&gt;')}</g:${name}>`)
const XML = `<?xml version="1.0"?><rss xmlns:g="http://base.google.com/ns/1.0"><channel><language>en</language>${ITEMS.map((item) => `<item>${entry(item).join('')}</item>`).join('')}</channel></rss>`
const GRAPH = { '@context': 'https://schema.org', '@graph': ITEMS.map((item) => ({ '@type': 'Product', ...item })) }
const LISTED = {
  '@type': 'ItemList',
  itemListElement: ITEMS.map((item) => ({
    item: { '@type': 'Product', name: item.brand, offers: { price: 49, priceCurrency: 'EUR' } },
  })),
}
const DOCUMENTS: readonly unknown[] = [ITEMS, GRAPH, LISTED, { products: ITEMS }]
const FEEDS = [
  rowsOf('\t'),
  rowsOf(','),
  rowsOf(';'),
  XML,
  jsonLines(ITEMS),
  ...DOCUMENTS.map((each) => JSON.stringify(each)),
].map((text) => Buffer.from(text))

/** Each import is dozens of statements. */
const STORED_EVERY = 20

export async function createFeedsPart(): Promise<Part> {
  const database = await createTestDatabase()
  const store = openTestStore({ url: database.url, applicationName: 'parley fuzz feeds', statementTimeoutMs: 60_000 })
  const shop = await addShop(store.db, 'Nordlicht')
  // Loads what tells languages apart, which holds up the process for a moment.
  await importText(store.db, shop, jsonLines(ITEMS))
  return {
    atOnce: 4,
    async try(random, n) {
      const bytes = feedOf(random)
      const format = random.int(4) === 0 ? random.pick(FEED_FORMATS) : undefined
      const size = random.pick([1, 7, 64, 65_536])
      const isStored = n % STORED_EVERY === 0
      // A feed of its own for each: two imports of one feed refuse each other, as they should.
      const options = { feedName: `feed-${n % 64}`, isRemovalConfirmed: true, ...(format && { format }) }
      const read = (some: Buffer) =>
        isStored ? importText(store.db, shop, some, options).then(() => 'stored') : readAll(some, size, format)
      const outcome = await outcomeOf(() => read(bytes))
      return {
        ...outcome,
        async shown() {
          const fails = async (smaller: Buffer) =>
            (await outcomeOf(() => read(smaller))).complaint === outcome.complaint
          const least = await minimised(bytes, smallerBytes, fails)
          return `${format ?? ''} ${JSON.stringify(least.toString('latin1').slice(0, 2_000))}`
        },
      }
    },
    complaints: () => Promise.resolve([]),
    async close() {
      await store.close()
      await database.drop()
    },
  }
}

function feedOf(random: Random): Buffer {
  const source =
    random.int(3) === 0 ? Buffer.from(written(mutated(random.pick(DOCUMENTS), random))) : random.pick(FEEDS)
  const lines =
    random.int(6) === 0 ? Buffer.from(written(mutated(ITEMS, random)).slice(1, -1).replaceAll('},{', '}\n{')) : source
  const changed = random.int(4) === 0 ? lines : mutatedBytes(lines, random, FEEDS)
  if (random.int(15) > 0) return changed
  const packed = gzipSync(changed)
  return random.int(2) === 0 ? packed : mutatedBytes(packed, random, [packed])
}

async function readAll(
  bytes: Buffer,
  size: number,
  format: (typeof FEED_FORMATS)[number] | undefined,
): Promise<string> {
  const { items } = await openFeed(feedTextOf(inPieces(bytes, size)), format)
  let accepted = 0
  for await (const item of items) {
    if ('problem' in item) continue
    if (judgeItem(item.fields, { domain: 'nordlicht.example' }).verdict !== 'rejected') accepted++
  }
  return accepted > 0 ? 'accepted' : 'rejected'
}

/** A lost connection is no fault of a feed, unless the same feed loses the next one as well. */
async function outcomeOf(
  read: () => Promise<string>,
  isAgain = false,
): Promise<{ ending: string; complaint: string | undefined }> {
  try {
    return { ending: await read(), complaint: undefined }
  } catch (error) {
    if (!isAgain && isUnavailable(error)) return outcomeOf(read, true)
    if (error instanceof FeedError && error.message !== '') return { ending: 'refused', complaint: undefined }
    return { ending: 'threw', complaint: `it threw ${textOf(error)}` }
  }
}
