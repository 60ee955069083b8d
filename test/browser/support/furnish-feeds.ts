import { uuidv7 } from '../../../src/platform/uuid.ts'
import { importFeed } from '../../../src/recommend/feeds/import-feed.ts'
import { HOUR_MS } from '../../../src/rules/durations.ts'
import { inTransaction, type Db } from '../../../src/store/database.ts'
import { setFeedSource } from '../../../src/store/offers/feed-schedule.ts'
import { insertUpload } from '../../../src/store/offers/feed-uploads.ts'
import { ensureFeed } from '../../../src/store/offers/feeds.ts'
import { inPieces, jsonLines, type Item } from '../../support/feeds.ts'

const DOMAIN = 'lamps.example.com'
const LAMPS = ['Desk lamp', 'Floor lamp', 'Reading light', 'Night light', 'Clip lamp', 'Salt lamp', 'Lava lamp']

/** Products as a shop sends them; of some, something is wrong. */
const ITEMS: Item[] = Array.from({ length: 64 }, (_, n) => ({
  id: `lamp-${100 + n}`,
  title: `${LAMPS[n % LAMPS.length]} no. ${n + 1}${n % 16 === 5 ? ', guaranteed for ten years' : ''}`,
  description: 'A warm, even light for evenings with a book, without any glare on the page.',
  link: n % 20 === 7 ? `https://elsewhere.example/${n}` : `https://${DOMAIN}/lamps/${n}`,
  image_link: n % 3 === 0 ? `https://${DOMAIN}/lamps/${n}.jpg` : undefined,
  price: n % 20 === 9 ? 'ask us' : `${19 + n}.90 EUR`,
  availability: n % 9 === 4 ? 'out of stock' : 'in_stock',
  product_type: 'Home > Lighting',
}))

/** Feeds that were published, one that fails, and a file that waits to be published. */
export async function furnishFeeds(db: Db, advertiserId: string, campaignId: string) {
  const own = { advertiserId, campaignId }
  const take = (name: string, items: readonly Item[]) =>
    importFeed({ db, feed: { ...own, name }, terms: { domain: DOMAIN }, bytes: inPieces(jsonLines(items)) })
  await take('All lamps', ITEMS.slice(0, 60))
  await take('All lamps', ITEMS)
  const later = new Date(Date.now() + 4 * HOUR_MS)
  const fetched = { last_fetch_at: new Date(), next_fetch_at: later }
  // In one: a worker that sees it in between would fetch it.
  const byAddress = (name: string, path: string, outcome: object) =>
    inTransaction(db, async (tx) => {
      const id = await ensureFeed(tx, { ...own, name })
      const sourceUrl = `https://${DOMAIN}/export/${path}`
      await setFeedSource(tx, id, { sourceUrl, interval: '6h', currency: null, campaignId })
      await tx
        .updateTable('feeds')
        .set({ ...fetched, ...outcome })
        .where('id', '=', id)
        .execute()
      return id
    })
  const feed = await byAddress('All lamps', 'products.jsonl.gz?key=7f3a', { last_fetch: 'published' })
  const problem = { last_fetch: 'failed', last_error: 'Its server answered with status 404.', failures: 3 }
  await byAddress('Spare parts', 'parts.xml', problem)
  await take('Clearance', [{ ...ITEMS[1], id: 'old-1', title: 'Lamp of last year' }])
  const upload = uuidv7()
  const changed = ITEMS.slice(4).map((item, n) => (n < 9 ? { ...item, price: '15.00 EUR' } : item))
  const file = Buffer.from(jsonLines([...changed, { ...ITEMS[0], id: 'lamp-900', title: 'Lamp of the year' }]))
  const about = { feed: 'All lamps', currency: null, fileName: 'lamps-november.jsonl' }
  await inTransaction(db, (tx) => insertUpload(tx, { ...own, ...about, id: upload, file }))
  const dry = { isDryRun: true, bytes: inPieces(file) }
  const checked = await importFeed({ db, feed: { ...own, name: 'All lamps' }, terms: { domain: DOMAIN }, ...dry })
  const { format, live, counts, pending, rejections, changes, refusal } = checked
  const report = { format, live, counts, pending, rejections, changes, refusal: refusal ?? null }
  await db
    .updateTable('feed_uploads')
    .set({ state: 'checked', due_at: null, report: JSON.stringify(report) })
    .where('id', '=', upload)
    .execute()
  return { feedId: feed, uploadId: upload }
}
