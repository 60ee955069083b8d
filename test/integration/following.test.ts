import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { createLog } from '../../src/platform/log.ts'
import { loadEngine } from '../../src/recommend/offer-index/engine.ts'
import { createFollowing, type Following, type FollowingOptions } from '../../src/recommend/offer-index/following.ts'
import { MINUTE_MS } from '../../src/rules/durations.ts'
import { KEPT_MS } from '../../src/rules/retention.ts'
import type { Db, Store } from '../../src/store/database.ts'
import { addOffer } from '../support/catalogue.ts'
import { start } from '../support/commands.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'
import { createRandom } from '../support/random.ts'
import { createWordEmbedder, type WordEmbedder } from '../support/word-embedder.ts'

const PROCESS = join(import.meta.dirname, '../support/following-process.ts')

let database: TestDatabase
let store: Store
let db: Db
let matcherStore: Store
let root: string
let directory: string
let embedder: WordEmbedder
let open: Following[] = []

before(async () => {
  database = await createTestDatabase()
  root = await mkdtemp(join(tmpdir(), 'parley-following-'))
  store = openTestStore({ url: database.url, applicationName: 'parley test' })
  db = store.db
  matcherStore = openTestStore({ url: loginUrl(database.url, 'matcher'), applicationName: 'parley test matcher' })
})

beforeEach(async () => {
  for (const following of open) await following.close()
  open = []
  await db.deleteFrom('offers').execute()
  await db.deleteFrom('text_vectors').execute()
  directory = await newDirectory()
  embedder = createWordEmbedder()
})

after(async () => {
  for (const following of open) await following.close()
  await matcherStore.close()
  await store.close()
  await database.drop()
  await rm(root, { recursive: true })
})

function newDirectory(): Promise<string> {
  return mkdtemp(join(root, 'matcher-'))
}

function openFollowing(changes: Partial<FollowingOptions> = {}): Following {
  const following = createFollowing({ db: matcherStore.db, embedder, directory, log: createLog('silent'), ...changes })
  open.push(following)
  return following
}

async function followAll(following: Following): Promise<void> {
  do await following.follow()
  while (following.hasBacklog)
}

async function followAndClose(following: Following): Promise<void> {
  await followAll(following)
  await following.close()
}

async function addNamed(headline: string, tx: Db = db): Promise<string> {
  const { offerId } = await addOffer(tx, { advertiser: 'Shop', domain: 'shop.example', headline })
  return offerId
}

async function find(following: Following, words: string): Promise<string[]> {
  const [vector] = await createWordEmbedder().embed([words])
  assert.ok(vector)
  const found = (await following.index?.search({ words, vector })) ?? []
  return found.filter(({ bm25, cosine }) => bm25 > 0 || cosine > 0.1).map(({ headline }) => headline)
}

/** Every row of the index, also one that a search would hide behind another of the same id. */
async function indexedIds(): Promise<string[]> {
  const { lancedb } = await loadEngine()
  const table = await (await lancedb.connect(join(directory, 'index'))).openTable('offers')
  const rows = (await table.query().select(['id']).toArray()) as { id: string }[]
  return rows.map(({ id }) => id).toSorted()
}

async function servableIds(): Promise<string[]> {
  const rows = await db.selectFrom('offers').select('id').where('availability', '=', 'in_stock').execute()
  return rows.map(({ id }) => id).toSorted()
}

test('what is added, changed, sold out and back is found as it is now', async () => {
  const following = openFollowing()
  await addNamed('Red shoe')
  await followAll(following)
  assert.deepEqual(await find(following, 'red shoes'), ['Red shoe'])
  const id = await addNamed('Green hat')
  await followAll(following)
  assert.deepEqual(await find(following, 'green hats'), ['Green hat'])
  const text_hash = Buffer.alloc(32, 1)
  await db
    .updateTable('offers')
    .set({ title: 'Blue cap', headline: 'Blue cap', text_hash })
    .where('id', '=', id)
    .execute()
  await followAll(following)
  assert.deepEqual(await find(following, 'green hat'), [])
  assert.deepEqual(await find(following, 'blue cap'), ['Blue cap'])
  // The text that readers see may change while the text that is searched does not.
  await db.updateTable('offers').set({ headline: 'Bluest cap' }).where('id', '=', id).execute()
  await followAll(following)
  assert.deepEqual(await find(following, 'blue cap'), ['Bluest cap'])
  await db.updateTable('offers').set({ availability: 'out_of_stock' }).where('id', '=', id).execute()
  await followAll(following)
  assert.deepEqual(await find(following, 'blue cap'), [])
  await db.updateTable('offers').set({ availability: 'in_stock' }).where('id', '=', id).execute()
  await followAll(following)
  assert.deepEqual(await find(following, 'blue cap'), ['Bluest cap'])
})

for (const [why, change] of [
  ['removed', { removed_at: new Date() }],
  ['rejected', { review: 'rejected' }],
  ['not reviewed', { review: 'pending' }],
  ['in a language that is not judged', { language: 'de' }],
] as const) {
  test(`an offer that is ${why} is not found`, async () => {
    const following = openFollowing()
    const id = await addNamed('Red shoe')
    await followAll(following)
    await db.updateTable('offers').set(change).where('id', '=', id).execute()
    await followAll(following)
    assert.deepEqual(await find(following, 'red shoe'), [])
  })
}

test('a transaction that commits after later ones is not missed', async () => {
  const following = openFollowing()
  await addNamed('Red shoe')
  await followAll(following)
  const hasChanged = Promise.withResolvers<void>()
  const mayCommit = Promise.withResolvers<void>()
  const late = db.transaction().execute(async (tx) => {
    await addNamed('Late lamp', tx)
    hasChanged.resolve()
    await mayCommit.promise
  })
  await hasChanged.promise
  // Later ones are seen meanwhile, more than once, so that the point would move past the open one.
  await addNamed('Early bird')
  await followAll(following)
  await followAll(following)
  assert.deepEqual(await find(following, 'early bird'), ['Early bird'])
  mayCommit.resolve()
  await late
  await followAll(following)
  assert.deepEqual(await find(following, 'late lamp'), ['Late lamp'])
})

test('a start on an existing index goes on where it was, and embeds nothing again', async () => {
  await Promise.all(['Red shoe', 'Green hat', 'Blue cap'].map((name) => addNamed(name)))
  const first = openFollowing()
  await followAll(first)
  await first.close()
  await addNamed('White sock')
  const counting = createWordEmbedder()
  const second = openFollowing({ embedder: counting })
  await followAll(second)
  assert.equal(counting.embedded, 1)
  assert.deepEqual(await find(second, 'white sock'), ['White sock'])
  assert.deepEqual(await indexedIds(), await servableIds())
})

test('what one host has embedded, another does not', async () => {
  await addNamed('Red shoe')
  await followAll(openFollowing())
  const elsewhere = await newDirectory()
  const counting = createWordEmbedder()
  const second = openFollowing({ directory: elsewhere, embedder: counting })
  await followAll(second)
  assert.equal(counting.embedded, 0)
  assert.deepEqual(await find(second, 'red shoe'), ['Red shoe'])
})

test('an offer that another host embeds while it waits here is found here too', async () => {
  const here = openFollowing()
  await followAll(here)
  const elsewhere = openFollowing({ directory: await newDirectory() })
  // More than one round embeds, so that some are left over for the other.
  for (let n = 0; n < 250; n++) await addNamed(`Thing ${'abcdefghij'[n % 10]}${'klmnopqrst'[Math.floor(n / 25)]}`)
  await here.follow()
  assert.ok(here.hasBacklog)
  await followAll(elsewhere)
  await followAll(here)
  assert.deepEqual(await indexedIds(), await servableIds())
})

test('offers that wait to be embedded are not forgotten by a restart', async () => {
  const first = openFollowing()
  await followAll(first)
  for (let n = 0; n < 250; n++) await addNamed(`Thing number ${n}`)
  await first.follow()
  assert.ok(first.hasBacklog)
  await first.close()
  await followAll(openFollowing())
  assert.deepEqual(await indexedIds(), await servableIds())
})

test('another model, another database and a server that was set back each mean a new index', async () => {
  await addNamed('Red shoe')
  await followAndClose(openFollowing())
  const path = join(directory, 'followed.json')
  const state = JSON.parse(await readFile(path, 'utf8')) as { identity: string; model: string; xmin: string }
  const lies = [{ model: 'another' }, { identity: '1/1/1' }, { xmin: '999999999999' }, { layout: 0 }]
  for (const lie of lies) {
    // Something that only the former index has would stay in it if the index were kept.
    await addNamed('Left over')
    await followAndClose(openFollowing())
    await db.deleteFrom('offers').where('title', '=', 'Left over').execute()
    await writeFile(path, JSON.stringify({ ...state, ...lie }))
    const again = openFollowing()
    await followAll(again)
    assert.deepEqual(await find(again, 'left over'), [], JSON.stringify(lie))
    assert.deepEqual(await find(again, 'red shoe'), ['Red shoe'])
    await again.close()
  }
})

test('a matcher that was away for longer than removed offers are kept builds anew: nothing tells of what was erased', async () => {
  const kept = await addNamed('Red shoe')
  const erased = await addNamed('Green hat')
  await followAndClose(openFollowing())
  await db.deleteFrom('offers').where('id', '=', erased).execute()
  const path = join(directory, 'followed.json')
  const entry = JSON.parse(await readFile(path, 'utf8')) as { atMs: number }
  const awayFor = (ms: number) => writeFile(path, JSON.stringify({ ...entry, atMs: entry.atMs - ms }))
  await awayFor(KEPT_MS.removedOffers - MINUTE_MS)
  await followAndClose(openFollowing())
  assert.deepEqual(await indexedIds(), [kept, erased].toSorted(), 'within that time, no offer is erased')
  await awayFor(KEPT_MS.removedOffers + MINUTE_MS)
  await followAndClose(openFollowing())
  assert.deepEqual(await indexedIds(), [kept])
})

test('a directory that lost its index, or half of it, is built again', async () => {
  await addNamed('Red shoe')
  await followAndClose(openFollowing())
  await rm(join(directory, 'index'), { recursive: true })
  await followAndClose(openFollowing())
  assert.deepEqual(await indexedIds(), await servableIds())
  await rm(join(directory, 'index/offers.lance/_versions'), { recursive: true })
  await followAll(openFollowing())
  assert.deepEqual(await indexedIds(), await servableIds())
})

test('rows from transactions of the future, as a restore into a younger server has them, are found', async () => {
  const id = await addNamed('Red shoe')
  await sql`alter table offers disable trigger offers_changed`.execute(db)
  await sql`update offers set changed_in = '999999999999' where id = ${id}`.execute(db)
  await sql`alter table offers enable trigger offers_changed`.execute(db)
  const following = openFollowing()
  await followAll(following)
  assert.deepEqual(await find(following, 'red shoe'), ['Red shoe'])
})

test('half an index is never taken for a whole one', async () => {
  await Promise.all(['Red shoe', 'Green hat', 'Blue cap'].map((name) => addNamed(name)))
  await followAndClose(openFollowing())
  await rm(join(directory, 'index'), { recursive: true })
  const interrupted = openFollowing()
  const building = interrupted.follow()
  const closing = interrupted.close()
  await assert.rejects(building)
  await closing
  await followAll(openFollowing())
  assert.deepEqual(await indexedIds(), await servableIds())
})

test('offers that change while the index is built are in it once', async () => {
  for (let n = 0; n < 150; n++) await addNamed(`Thing number ${n}`)
  await followAndClose(openFollowing())
  await rm(join(directory, 'index'), { recursive: true })
  let isOver = false
  let changes = 0
  const changing = (async () => {
    for (let n = 0; !isOver; n++, changes++) {
      await sql`update offers set benefit = ${`changed ${n}`}
        where id in (select id from offers order by changed_in, id limit 3)`.execute(db)
    }
  })()
  const following = openFollowing({ pageRows: 3 })
  const before = changes
  await following.follow()
  assert.ok(changes > before, 'offers changed while it was built')
  isOver = true
  await changing
  await followAll(following)
  assert.deepEqual(await indexedIds(), await servableIds())
})

test('killed at any moment, it loses no offer and has none twice', async () => {
  const random = createRandom(6)
  let isOver = false
  const changing = (async () => {
    for (let n = 0; !isOver; n++) {
      const id = await addNamed(`Thing number ${n}`)
      if (random.int(3) === 0)
        await db.updateTable('offers').set({ availability: 'out_of_stock' }).where('id', '=', id).execute()
      if (random.int(3) === 0) {
        await sql`update offers set benefit = ${`changed ${n}`}
          where id in (select id from offers order by md5(id::text || ${n}::text) limit 5)`.execute(db)
      }
      await sleep(5)
    }
  })()
  for (let round = 0; round < 5; round++) {
    const child = start(process.execPath, [PROCESS, loginUrl(database.url, 'matcher'), directory])
    await child.untilPrinted(/followed/, 20_000)
    await sleep(random.int(400))
    await child.end('SIGKILL', 5_000)
  }
  isOver = true
  await changing
  await followAll(openFollowing())
  const ids = await indexedIds()
  assert.ok(ids.length > 50, `${ids.length} offers`)
  assert.deepEqual(ids, await servableIds())
})
