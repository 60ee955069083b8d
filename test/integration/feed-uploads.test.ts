import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { after, before, beforeEach, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { confirmUpload, deleteUpload, insertUpload } from '../../src/store/offers/feed-uploads.ts'
import { setFeedPaused, setFeedRemoved, setFeedSource } from '../../src/store/offers/feed-schedule.ts'
import { ensureFeed, findFeed, tryLockFeed, unlockFeed } from '../../src/store/offers/feeds.ts'
import { readCampaignSnapshot } from '../../src/store/offers/campaign-snapshot.ts'
import { inTransaction } from '../../src/store/database.ts'
import { addShop, inPieces, itemOf, jsonLines, type Item, type Shop } from '../support/feeds.ts'
import { importUploadsJob } from '../../src/worker/advertisers/import-uploads.ts'
import { createWorkerWorld, PERIODS_MS, type WorkerWorld } from '../support/worker-world.ts'

/** Files that members have uploaded, and feeds that they pause and remove, as the worker treats them under its own login. */

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
  world.feeds.asked.length = 0
})

const ten = Array.from({ length: 10 }, (_, n) => itemOf(`lamp-${n}`))

async function upload(content: readonly Item[] | Buffer, of: Shop = shop): Promise<string> {
  const id = uuidv7()
  const file = Buffer.isBuffer(content) ? content : Buffer.from(jsonLines(content))
  const { advertiserId, campaignId } = of
  const about = { feed: 'main', currency: null, fileName: 'lamps.jsonl' }
  await inTransaction(world.store.db, (tx) => insertUpload(tx, { ...about, id, advertiserId, campaignId, file }))
  return id
}

const confirm = (id: string, isRemovalConfirmed = false) =>
  inTransaction(world.store.db, (tx) => confirmUpload(tx, id, isRemovalConfirmed))

const look = () => world.pass('import uploaded feeds', PERIODS_MS['import uploaded feeds'])

async function stored(id: string) {
  const row = await world.store.db.selectFrom('feed_uploads').selectAll().where('id', '=', id).executeTakeFirst()
  return row && { ...row, report: row.report as Report | null }
}

interface Report {
  counts: Record<string, number>
  live: number
  refusal: string | null
  rejections: { row: number; item: string | null; reason: string }[]
  changes: { kind: string; row: number | null; item: string; title: string; fields: string[] }[]
}

/** The job takes a few at a time, and goes on without what takes long: on a busy machine all does. */
async function worked(id: string) {
  const untilMs = performance.now() + 60_000
  for (;;) {
    await look()
    const row = await stored(id)
    if (!row || row.due_at === null) return row
    assert.ok(performance.now() < untilMs, 'it was never done')
    await sleep(20)
  }
}

async function publish(content: readonly Item[]): Promise<void> {
  const id = await upload(content)
  await worked(id)
  await confirm(id)
  assert.equal((await worked(id))?.state, 'published')
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

test('a file is checked without any change, and then published as it was checked', async () => {
  const bad = itemOf('bad', { link: 'https://elsewhere.example/' })
  const id = await upload(gzipSync(jsonLines([...ten.slice(0, 2), bad])))
  const checked = await worked(id)
  assert.equal(checked?.state, 'checked')
  const { counts, live, refusal, rejections, changes } = checked.report ?? assert.fail()
  assert.deepEqual([counts.rows, counts.added, counts.rejected, live, refusal], [3, 2, 1, 0, null])
  assert.deepEqual(
    rejections.map(({ row, item }) => [row, item]),
    [[3, 'bad']],
  )
  assert.match(rejections[0]?.reason ?? '', /leads to elsewhere\.example/)
  assert.deepEqual(changes, [
    { kind: 'added', row: 1, item: 'lamp-0', title: 'Desk lamp lamp-0', fields: [] },
    { kind: 'added', row: 2, item: 'lamp-1', title: 'Desk lamp lamp-1', fields: [] },
  ])
  assert.deepEqual(await offers(), [])
  assert.equal(await findFeed(world.store.db, shop.advertiserId, 'main'), undefined)
  await confirm(id)
  const published = await worked(id)
  assert.deepEqual([published?.state, published?.file, published?.problem], ['published', null, null])
  assert.deepEqual(await offers(), ['lamp-0', 'lamp-1'])
})

test('what would be changed is told by its fields, and what would be withdrawn by its name', async () => {
  await publish(ten.slice(0, 4))
  await publish(ten.slice(0, 3))
  const dearer = itemOf('lamp-0', { price: '59.00 EUR', availability: 'out of stock' })
  const checked = await worked(await upload([dearer, ten[1] ?? {}, ten[2] ?? {}]))
  assert.deepEqual(checked?.report?.changes, [
    { kind: 'changed', row: 1, item: 'lamp-0', title: 'Desk lamp lamp-0', fields: ['price', 'availability'] },
    { kind: 'removed', row: null, item: 'lamp-3', title: 'Desk lamp lamp-3', fields: [] },
  ])
  assert.deepEqual([checked.report.counts.changed, checked.report.counts.removed], [1, 1])
  assert.equal((await offers()).length, 4)
})

test('a file that would withdraw most offers is published only when that is said, and asked about again otherwise', async () => {
  await publish(ten)
  await publish(ten.slice(8))
  const id = await upload(ten.slice(8))
  const refusal = /would remove 8 of 10 offers/
  assert.match((await worked(id))?.report?.refusal ?? '', refusal)
  await confirm(id)
  const again = await worked(id)
  assert.equal(again?.state, 'checked')
  assert.match(again.report?.refusal ?? '', refusal)
  assert.equal((await offers()).length, 10)
  await confirm(id, true)
  assert.equal((await worked(id))?.state, 'published')
  assert.deepEqual(await offers(), ['lamp-8', 'lamp-9'])
})

test('a file that cannot be read fails in words, and is kept no longer', async () => {
  const row = await worked(await upload(Buffer.from('sku;colour\n1;red\n')))
  assert.deepEqual([row?.state, row?.file, row?.report], ['failed', null, null])
  assert.match(row?.problem ?? '', /no column title, link, price/)
})

test('a file that is discarded while it is checked stays gone, and one of a feed that is being imported waits', async () => {
  const id = await upload(ten)
  await inTransaction(world.store.db, (tx) => deleteUpload(tx, id))
  assert.equal(await worked(id), undefined)
  const feedId = await ensureFeed(world.store.db, { ...shop, name: 'main' })
  const waiting = await upload(ten)
  await world.store.db.connection().execute(async (connection) => {
    assert.ok(await tryLockFeed(connection, feedId))
    await look()
    const { state, due_at: due } = (await stored(waiting)) ?? assert.fail()
    assert.deepEqual([state, (due?.getTime() ?? 0) > Date.now()], ['to_check', true])
    await unlockFeed(connection, feedId)
  })
})

test('a new feed is looked at by one worker at a time, and of an advertiser that is suspended nothing is', async () => {
  const { db } = world.store
  const waiting = await upload(ten)
  const lock = `${shop.advertiserId} main`
  await db.connection().execute(async (connection) => {
    assert.ok(await tryLockFeed(connection, lock))
    await look()
    assert.equal((await stored(waiting))?.state, 'to_check')
    await unlockFeed(connection, lock)
  })
  await db.updateTable('advertisers').set({ status: 'suspended' }).where('id', '=', shop.advertiserId).execute()
  const due = new Date(0)
  await db.updateTable('feed_uploads').set({ due_at: due }).where('id', '=', waiting).execute()
  await look()
  assert.deepEqual((await stored(waiting))?.due_at, due)
  await db.updateTable('advertisers').set({ status: 'active' }).where('id', '=', shop.advertiserId).execute()
  assert.equal((await worked(waiting))?.state, 'checked')
})

test('a file that takes longer than it may is given up and says so', async () => {
  const id = await upload(ten)
  const { openImportStore, store } = world
  const { signal } = new AbortController()
  await importUploadsJob({ db: store.db, openImportStore, signal, wholeMs: 1 }).run()
  const untilMs = performance.now() + 60_000
  while ((await stored(id))?.due_at !== null) assert.ok(performance.now() < untilMs, 'it was never noted')
  const { state, problem, file } = (await stored(id)) ?? assert.fail()
  assert.deepEqual({ state, problem, file }, { state: 'failed', problem: 'It took too long to import.', file: null })
  assert.deepEqual(await offers(), [])
})

test('of a worker that died, another one takes the file two minutes later, and of one advertiser one file at a time', async () => {
  const [first, second] = [await upload(ten), await upload(ten)]
  const { db } = world.store
  const lease = { due_at: new Date(Date.now() + 120_000) }
  await db.updateTable('feed_uploads').set(lease).where('id', '=', first).execute()
  assert.equal((await worked(second))?.state, 'checked')
  assert.equal((await stored(first))?.state, 'to_check')
  await db.updateTable('feed_uploads').set({ due_at: new Date() }).where('id', '=', first).execute()
  const third = await upload(ten)
  await world.store.db
    .updateTable('feed_uploads')
    .set({ due_at: new Date(0) })
    .where('id', '=', third)
    .execute()
  assert.equal((await worked(first))?.state, 'checked')
})

async function addByUrl(name = 'main'): Promise<string> {
  const { db } = world.store
  const id = await ensureFeed(db, { ...shop, name })
  const source = { sourceUrl: `https://nordlicht.example/${name}.jsonl`, interval: 'daily' as const, currency: null }
  await setFeedSource(db, id, { ...source, campaignId: shop.campaignId })
  return id
}

const lookForFeeds = () => world.pass('fetch feeds', PERIODS_MS['fetch feeds'])
const addressesAsked = () => world.feeds.asked.map(({ url }) => new URL(url).pathname)

test('a feed that is paused is not fetched until it is resumed, and then immediately', async () => {
  const id = await addByUrl()
  assert.ok(await setFeedPaused(world.store.db, id, true))
  assert.ok(!(await setFeedPaused(world.store.db, id, true)))
  await lookForFeeds()
  assert.deepEqual(addressesAsked(), [])
  assert.ok(await setFeedPaused(world.store.db, id, false))
  await lookForFeeds()
  assert.deepEqual(addressesAsked(), ['/main.jsonl'])
})

test('nothing is fetched for an advertiser whose domain is not verified', async () => {
  await addByUrl()
  const mine = { domain_verified_at: null, domain_proven_by: null }
  await world.store.db.updateTable('advertisers').set(mine).where('id', '=', shop.advertiserId).execute()
  await lookForFeeds()
  assert.deepEqual(addressesAsked(), [])
})

test('a slow server of one advertiser delays its own feeds and nobody else’s', async () => {
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  const { answer } = world.feeds
  world.feeds.answer = async () => {
    if (world.feeds.asked.length === 1) await released
    return { problem: 'Its server answered with status 500.' }
  }
  for (const name of ['a', 'b', 'c', 'd', 'e']) await addByUrl(name)
  await lookForFeeds()
  assert.deepEqual(addressesAsked(), ['/a.jsonl'])
  shop = await addShop(world.store.db, `Nordlicht ${++shops}`)
  await addByUrl('other')
  await lookForFeeds()
  assert.deepEqual(addressesAsked(), ['/a.jsonl', '/other.jsonl'])
  release()
  await lookForFeeds()
  await lookForFeeds()
  assert.ok(addressesAsked().includes('/b.jsonl'))
  world.feeds.answer = answer
})

test('of a feed that is removed nothing is recommended from then on, its offers go, and its name brings them back', async () => {
  const { db } = world.store
  await publish(ten)
  const { id } = (await findFeed(db, shop.advertiserId, 'main')) ?? assert.fail()
  const isServed = async () => (await readCampaignSnapshot(db)).feeds.some((feed) => feed.id === id)
  assert.ok(await isServed())
  assert.ok(await setFeedRemoved(db, id))
  assert.ok(!(await isServed()))
  const source = { sourceUrl: 'https://nordlicht.example/main.jsonl', interval: '6h' as const, currency: null }
  assert.ok(!(await setFeedSource(db, id, { ...source, campaignId: shop.campaignId })))
  await db
    .updateTable('feeds')
    .set({ source_url: source.sourceUrl, fetch_every: '6h', next_fetch_at: new Date(0) })
    .where('id', '=', id)
    .execute()
  await lookForFeeds()
  assert.ok(!addressesAsked().includes('/main.jsonl'))
  await world.pass('withdraw removed feeds', PERIODS_MS['withdraw removed feeds'])
  assert.deepEqual(await offers(), [])
  assert.equal((await findFeed(db, shop.advertiserId, 'main'))?.expires_at, null)
  await publish(ten.slice(0, 3))
  assert.deepEqual(await offers(), ['lamp-0', 'lamp-1', 'lamp-2'])
  const again = await findFeed(db, shop.advertiserId, 'main')
  assert.deepEqual([again?.id, again?.removed_at], [id, null])
  assert.ok(await isServed())
})

test('a feed by address that would lose most of its offers is published once somebody says so, and only once', async () => {
  const { db } = world.store
  const id = await addByUrl()
  const send = (items: readonly Item[]) => {
    const bytes = () => inPieces(jsonLines(items))
    world.feeds.answer = () => ({ bytes: bytes(), etag: null, lastModified: null, close: () => {} })
  }
  const fetched = async () => {
    const row = () => db.selectFrom('feeds').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const { last_fetch_at: before } = await row()
    await db.updateTable('feeds').set({ next_fetch_at: new Date() }).where('id', '=', id).execute()
    await lookForFeeds()
    while ((await row()).last_fetch_at?.getTime() === before?.getTime()) await sleep(20)
    return row()
  }
  send(ten)
  await fetched()
  send(ten.slice(9))
  await fetched()
  assert.equal((await fetched()).last_fetch, 'refused')
  assert.equal((await offers()).length, 10)
  await db.updateTable('feeds').set({ is_removal_confirmed: true }).where('id', '=', id).execute()
  const { last_fetch: outcome, is_removal_confirmed: isStillConfirmed } = await fetched()
  assert.deepEqual([outcome, isStillConfirmed], ['published', false])
  assert.deepEqual(await offers(), ['lamp-9'])
})
