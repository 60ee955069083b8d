import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { after, before, beforeEach, test } from 'node:test'
import { FeedError } from '../../src/rules/offers/feed-error.ts'
import { setFeedSource } from '../../src/store/offers/feed-schedule.ts'
import { ensureFeed, findFeed, tryLockFeed, unlockFeed } from '../../src/store/offers/feeds.ts'
import { addShop, inPieces, itemOf, jsonLines, type Item, type Shop } from '../support/feeds.ts'
import { fetchFeedsJob } from '../../src/worker/advertisers/fetch-feeds.ts'
import { createWorkerWorld, PERIODS_MS, type WorkerWorld } from '../support/worker-world.ts'

/** The job that fetches feeds, under the worker's own login. */

const URL = 'https://nordlicht.example/feed.jsonl'
let world: WorkerWorld
let shop: Shop
let shops = 0

before(async () => {
  world = await createWorkerWorld()
  // Loaded by the first import, which would take longer than the job waits.
  await import('../../src/recommend/feeds/item-language.ts')
})
after(() => world.close())
beforeEach(async () => {
  shop = await addShop(world.store.db, `Nordlicht ${++shops}`)
  await addByUrl()
  world.feeds.asked.length = 0
})

async function addByUrl(name = 'main'): Promise<string> {
  const { db } = world.store
  const { advertiserId, campaignId } = shop
  const id = await ensureFeed(db, { advertiserId, campaignId, name })
  await setFeedSource(db, id, { sourceUrl: URL, interval: '6h', currency: null, campaignId })
  return id
}

interface Sent {
  etag?: string
  closed?: () => void
}

function send(content: readonly Item[] | string | Buffer, { etag, closed = () => {} }: Sent = {}) {
  const text = typeof content === 'string' || Buffer.isBuffer(content) ? content : jsonLines(content)
  world.feeds.answer = () => ({ bytes: inPieces(text), etag: etag ?? null, lastModified: null, close: closed })
}

const look = () => world.pass('fetch feeds', PERIODS_MS['fetch feeds'])

/** The job goes on without what takes long, and on a busy machine all does. */
async function lookAndWait(): Promise<void> {
  const [{ last_fetch_at: before }, asked] = [await feed(), world.feeds.asked.length]
  await look()
  if (world.feeds.asked.length === asked) return
  const untilMs = performance.now() + 60_000
  while ((await feed()).last_fetch_at?.getTime() === before?.getTime()) {
    assert.ok(performance.now() < untilMs, 'it was never noted')
    await sleep(20)
  }
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + 60_000
  while (!(await isTrue())) assert.ok(performance.now() < untilMs, 'it did not come to be in time')
}

/** As if its time had come. */
async function due(): Promise<void> {
  const now = new Date()
  await world.store.db
    .updateTable('feeds')
    .set({ next_fetch_at: now })
    .where('advertiser_id', '=', shop.advertiserId)
    .execute()
  await lookAndWait()
}

async function feed() {
  const query = world.store.db.selectFrom('feeds').selectAll().where('advertiser_id', '=', shop.advertiserId)
  const row = await query.executeTakeFirstOrThrow()
  const waitMs = (row.next_fetch_at?.getTime() ?? 0) - Date.now()
  return { ...row, waitMinutes: Math.round(waitMs / 60_000) }
}

async function offers(): Promise<string[]> {
  const rows = await world.store.db
    .selectFrom('offers')
    .select('item_id')
    .where('advertiser_id', '=', shop.advertiserId)
    .where('removed_at', 'is', null)
    .orderBy('item_id')
    .execute()
  return rows.map(({ item_id: id }) => id)
}

const ten = Array.from({ length: 10 }, (_, n) => itemOf(`lamp-${n}`))

test('a feed that is due is fetched and imported whole, with the verdict of every row, and is due again after its interval', async () => {
  let isClosed = false
  send([...ten, itemOf('bad', { link: 'https://elsewhere.example/' })], {
    etag: '"1"',
    closed: () => (isClosed = true),
  })
  await lookAndWait()
  assert.equal((await offers()).length, 10)
  const { last_fetch: outcome, last_error: error, failures, waitMinutes, etag, id } = await feed()
  assert.deepEqual(
    { outcome, error, failures, waitMinutes, etag },
    { outcome: 'published', error: null, failures: 0, waitMinutes: 360, etag: '"1"' },
  )
  const runs = await world.store.db.selectFrom('feed_runs').selectAll().where('feed_id', '=', id).execute()
  assert.equal(runs.length, 1)
  assert.equal(runs[0]?.state, 'published')
  assert.match(JSON.stringify(runs[0]?.rejections), /leads to elsewhere\.example/)
  assert.ok(isClosed)
  const entry = await world.store.db
    .selectFrom('audit_log')
    .select(['action', 'actor', 'details'])
    .where('action', '=', 'offers.imported')
    .orderBy('seq', 'desc')
    .executeTakeFirstOrThrow()
  assert.match(
    JSON.stringify(entry.details),
    new RegExp(`"added":10.*"advertiser":"${shop.name}"|"advertiser":"${shop.name}".*"added":10`),
  )
  await lookAndWait()
  assert.equal(world.feeds.asked.length, 1, 'it is not due')
})

test('a file that has not changed is not sent again, and its offers stay fresh', async () => {
  send(ten, { etag: '"1"' })
  await lookAndWait()
  await world.store.db.updateTable('feeds').set({ expires_at: new Date() }).execute()
  world.feeds.answer = () => ({ isUnchanged: true })
  await due()
  assert.equal(world.feeds.asked.at(-1)?.etag, '"1"')
  const { last_fetch: outcome, etag, expires_at: expires } = await feed()
  assert.deepEqual({ outcome, etag }, { outcome: 'unchanged', etag: '"1"' })
  assert.ok((expires?.getTime() ?? 0) > Date.now() + 29 * 86_400_000)
})

test('what was missing from a file is removed by the next one that lacks it, so that one is asked for whole', async () => {
  send(ten)
  await lookAndWait()
  send(ten.slice(1), { etag: '"2"' })
  await due()
  assert.equal((await offers()).length, 10)
  assert.equal((await feed()).etag, null)
  await due()
  assert.equal((await offers()).length, 9)
  assert.equal((await feed()).etag, '"2"')
})

for (const [what, begin] of [
  ['cut off in the middle', () => send(`[${JSON.stringify(itemOf('lamp-0'))}, {"id": "lamp-1"`)],
  ['no feed', () => send('<html>Not found</html>')],
  ['an archive that unpacks to far more than itself', () => send(gzipSync(Buffer.alloc(60_000_000, 'x')))],
  ['without most of its offers', () => send(ten.slice(9).map((item) => ({ ...item, id: 'other' })))],
  ['not there', () => (world.feeds.answer = () => ({ problem: 'Its server answered with status 500.' }))],
  [
    'broken on the way',
    () =>
      (world.feeds.answer = () => ({
        // eslint-disable-next-line require-yield
        bytes: (async function* () {
          yield Buffer.from(jsonLines(ten.slice(0, 5)))
          throw new FeedError('The connection broke in the middle of the file.')
        })(),
        etag: null,
        lastModified: null,
        close: () => {},
      })),
  ],
] as const) {
  test(`a file that is ${what} leaves the version that was there, and it is said why`, async () => {
    send(ten)
    await lookAndWait()
    const before = await offers()
    begin()
    await due()
    // The first run of two only notes what is missing.
    if (what === 'without most of its offers') await due()
    assert.deepEqual(
      (await offers()).filter((id) => id !== 'other'),
      before,
    )
    const { last_fetch: outcome, last_error: error, waitMinutes, failures } = await feed()
    assert.ok(error, what)
    if (outcome === 'refused') assert.match(error, /would remove 10 of 11 offers/)
    else assert.deepEqual({ outcome, waitMinutes, failures }, { outcome: 'failed', waitMinutes: 5, failures: 1 })
  })
}

test('after failures in a row it is asked ever less often, and after one success as often as before', async () => {
  world.feeds.answer = () => ({ problem: 'Its server answered with status 500.' })
  const waits: number[] = []
  for (let n = 0; n < 4; n++) {
    await due()
    waits.push((await feed()).waitMinutes)
  }
  assert.deepEqual(waits, [5, 10, 20, 40])
  send(ten)
  await due()
  const { failures, waitMinutes, last_error: error } = await feed()
  assert.deepEqual({ failures, waitMinutes, error }, { failures: 0, waitMinutes: 360, error: null })
})

test('while somebody imports a feed it is not imported a second time', async () => {
  send(ten)
  const { id } = await feed()
  await world.store.db.connection().execute(async (connection) => {
    assert.ok(await tryLockFeed(connection, id))
    await lookAndWait()
    await unlockFeed(connection, id)
  })
  assert.deepEqual(await offers(), [])
  assert.match((await feed()).last_error ?? '', /Another import of the feed/)
})

test('a long one is no reason to wait for the others, nor to fetch it again', async () => {
  let release = () => {}
  const slow = new Promise<void>((resolve) => (release = resolve))
  world.feeds.answer = async () => {
    await slow
    return { problem: 'late' }
  }
  const looking = look()
  const first = shop
  shop = await addShop(world.store.db, `Nordlicht ${++shops}`)
  await addByUrl()
  await looking
  send(ten)
  await lookAndWait()
  assert.equal((await offers()).length, 10)
  assert.equal(world.feeds.asked.length, 2)
  shop = first
  release()
  for (let n = 0; n < 100 && (await feed()).last_fetch === null; n++) await sleep(20)
  assert.equal((await feed()).last_error, 'late')
})

test('an advertiser whose servers are slow has one place, however many feeds it has: the others are fetched', async () => {
  let release = () => {}
  const slow = new Promise<void>((resolve) => (release = resolve))
  world.feeds.answer = async () => {
    await slow
    return { problem: 'late' }
  }
  const names = ['second', 'third', 'fourth', 'fifth']
  for (const name of names) await addByUrl(name)
  await look()
  await look()
  assert.equal(world.feeds.asked.length, 1)
  shop = await addShop(world.store.db, `Nordlicht ${++shops}`)
  await addByUrl()
  send(ten)
  await lookAndWait()
  assert.equal((await offers()).length, 10)
  release()
  await until(async () => {
    await look()
    return world.feeds.asked.length === 1 + 1 + names.length
  })
})

test('an address that was changed meanwhile is due at once: the end of the former fetch is not its own', async () => {
  world.feeds.answer = async () => {
    const { id } = await feed()
    const { campaignId } = shop
    const source = { sourceUrl: 'https://nordlicht.example/new', interval: '6h' as const, currency: null, campaignId }
    await setFeedSource(world.store.db, id, source)
    return { problem: 'Its server answered with status 404.' }
  }
  await look()
  const { last_error: error, failures } = await feed()
  assert.deepEqual({ error, failures }, { error: null, failures: 0 })
  send(ten)
  await lookAndWait()
  assert.equal(world.feeds.asked.at(-1)?.url, 'https://nordlicht.example/new')
  assert.equal((await offers()).length, 10)
})

test('an import that takes longer than it may is given up, and leaves what was there', async () => {
  send(ten)
  await lookAndWait()
  send(ten.map((item) => ({ ...item, title: 'Another lamp' })))
  await world.store.db
    .updateTable('feeds')
    .set({ next_fetch_at: new Date(0) })
    .where('advertiser_id', '=', shop.advertiserId)
    .execute()
  const { openImportStore, metrics } = world
  const { signal } = new AbortController()
  const { db } = world.store
  await fetchFeedsJob({ db, fetchFeed: world.feeds.fetch, openImportStore, metrics, signal, wholeMs: 1 }).run()
  await until(async () => (await feed()).failures === 1)
  assert.equal((await feed()).last_error, 'It took too long to import.')
  const titles = await db.selectFrom('offers').select('title').where('advertiser_id', '=', shop.advertiserId).execute()
  assert.ok(titles.length === 10 && titles.every(({ title }) => title !== 'Another lamp'))
})

test('feeds of a suspended advertiser, and those without an address, are not fetched', async () => {
  const { db } = world.store
  await db.updateTable('advertisers').set({ status: 'suspended' }).where('id', '=', shop.advertiserId).execute()
  const other = await addShop(db, `Nordlicht ${++shops}`)
  await ensureFeed(db, { ...other, name: 'by hand' })
  await lookAndWait()
  assert.deepEqual(world.feeds.asked, [])
  assert.ok(await findFeed(db, other.advertiserId, 'by hand'))
})
