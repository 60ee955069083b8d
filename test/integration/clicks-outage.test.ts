/** Clicks while PostgreSQL is away, when it returns, and when a gateway ends meanwhile: readers are led on, and no paid click is lost or doubled. */
import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { createClicks, type ClicksOptions } from '../../src/gateway/recommendations/clicks.ts'
import { createNetworkTags } from '../../src/gateway/recommendations/network-tags.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createLog } from '../../src/platform/log.ts'
import { tokenOf } from '../../src/rules/recommendations/link-token.ts'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { openStore, type Db } from '../../src/store/database.ts'
import { findShown } from '../../src/store/recommendations/clicks.ts'
import { startCuttable } from '../conformance/second-gateway.ts'
import { clickOn, fund, show } from '../support/clicks.ts'
import { addOffer, OFFER_LINK } from '../support/fixed-matcher.ts'
import { createRelay } from '../support/relay.ts'
import { createWorld, until, type World } from '../support/world.ts'

const READER = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0',
  accept: 'text/html',
  'accept-language': 'en',
}

let world: World
let match: Match
let network = 0
before(async () => {
  world = await createWorld({ env: { PARLEY_TRUSTED_PROXIES: '127.0.0.1' } })
  match = await addOffer(world.store.db)
  await fund(world.store.db, match.advertiserId, 100n * BigInt(match.priceNanos))
})
after(() => world.close())

/** Shown a minute ago. */
async function shown(): Promise<{ id: string; path: string }> {
  const { db } = world.store
  const [id = ''] = await show(db, match, world.project.id)
  const aMinuteAgo = new Date(Date.now() - 60_000)
  await db.updateTable('recommendations').set({ created_at: aMinuteAgo }).where('id', '=', id).execute()
  const signing = { version: world.secrets.version, key: createSecretKey(world.secrets.keyFor('recommendations')) }
  return { id, path: `/r/${tokenOf(id, { projectId: world.project.id, words: match.headline }, signing)}` }
}

async function follow(url: string, path: string, method = 'GET') {
  network += 1
  const headers = { ...READER, 'x-forwarded-for': `21.0.${network}.7` }
  const response = await fetch(`${url}${path}`, { method, redirect: 'manual', headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function verdictsOf(recommendationId: string): Promise<string[]> {
  const rows = await world.store.db
    .selectFrom('clicks')
    .select('verdict')
    .where('recommendation_id', '=', recommendationId)
    .orderBy('id')
    .execute()
  return rows.map(({ verdict }) => verdict)
}

test('while the store is away a known link leads on, another one asks its reader to wait; then each click is there, once', async () => {
  const gateway = await startCuttable(world, { PARLEY_TRUSTED_PROXIES: '127.0.0.1' })
  const [known, unknown] = [await shown(), await shown()]
  assert.equal((await follow(gateway.url, known.path, 'HEAD')).status, 302)
  gateway.relay.cut()
  for (let n = 0; n < 2; n++) {
    const { status, headers } = await follow(gateway.url, known.path)
    assert.deepEqual([status, headers.get('location')], [302, OFFER_LINK])
  }
  const asked = await follow(gateway.url, unknown.path)
  assert.equal(asked.status, 503)
  assert.match(String(asked.headers.get('content-type')), /^text\/html/)
  assert.ok(Number(asked.headers.get('retry-after')) > 0)
  assert.match(asked.text, /Try again in a moment/)
  assert.deepEqual(await verdictsOf(known.id), ['head'])
  gateway.relay.mend()
  await until(async () => (await verdictsOf(known.id)).length === 3)
  assert.deepEqual(await verdictsOf(known.id), ['head', 'valid', 'repeat'])
  assert.equal((await follow(gateway.url, unknown.path)).status, 302)
  assert.deepEqual(await verdictsOf(unknown.id), ['valid'])
})

test('a link that the store does not know, such as one of after its last backup, is a page for its reader and stores nothing', async () => {
  const { id, path } = await shown()
  await world.store.db.deleteFrom('recommendations').where('id', '=', id).execute()
  for (const each of [path, path.replace('/r/', '/w/')]) {
    const { status, headers, text } = await follow(world.url, each)
    assert.deepEqual([status, headers.get('content-type')], [404, 'text/html; charset=utf-8'])
    assert.match(text, /leads nowhere/)
  }
  assert.deepEqual(await verdictsOf(id), [])
})

/** A store that can be taken away, and clicks on it as a gateway has them. */
async function cuttableStore() {
  const { hostname, port } = new URL(String(world.env.DATABASE_URL))
  const relay = await createRelay({ host: hostname, port: Number(port || 5432) })
  const url = new URL(String(world.env.DATABASE_URL))
  url.host = `127.0.0.1:${relay.port}`
  const store = openStore({ url: url.href, applicationName: 'parley test' })
  after(async () => {
    relay.mend()
    await store.close()
    await relay.close()
  })
  return { relay, db: store.db }
}

function clicksOn(db: Db, options: Partial<ClicksOptions> = {}) {
  const metrics = createMetrics()
  const logs: Record<string, unknown>[] = []
  const log = createLog('info', { write: (line) => logs.push(JSON.parse(line) as Record<string, unknown>) })
  const clicks = createClicks({
    db,
    networkTags: createNetworkTags(db),
    isDataCentre: () => false,
    log,
    metrics,
    redirectWaitMs: 50,
    ...options,
  })
  const dropped = async () => {
    const { values } = await metrics.clicksDropped.get()
    return values.map(({ labels, value }) => [labels.why, value])
  }
  return { clicks, logs, dropped }
}

function readerAt(ip: string): FastifyRequest {
  return { method: 'GET', headers: READER, ip } as unknown as FastifyRequest
}

test('a click whose network the store cannot name in that moment waits for it, and is neither taken for an old one nor untagged', async () => {
  const { relay, db } = await cuttableStore()
  const { id } = await shown()
  const tags = createNetworkTags(world.store.db)
  const networkTag = await tags.tagOf('22.0.0.7', new Date())
  await world.store.db
    .updateTable('recommendations')
    .set({ network_tag: networkTag ?? null })
    .where('id', '=', id)
    .execute()
  const [known] = await findShown(world.store.db, [id])
  const { clicks, dropped } = clicksOn(db)
  relay.cut()
  await clicks.record(readerAt('23.0.0.7'), known ?? assert.fail('not stored'))
  relay.mend()
  await until(async () => (await verdictsOf(id)).length === 1)
  assert.deepEqual(await verdictsOf(id), ['valid'])
  const row = await world.store.db
    .selectFrom('clicks')
    .select('network_tag')
    .where('recommendation_id', '=', id)
    .executeTakeFirstOrThrow()
  assert.deepEqual(row.network_tag, await tags.tagOf('23.0.0.7', new Date()))
  assert.deepEqual(await dropped(), [])
})

test('a gateway that ends while the store is away ends in time, and says how many clicks are lost', async () => {
  const { relay, db } = await cuttableStore()
  const known = (await findShown(world.store.db, [(await shown()).id]))[0] ?? assert.fail('not stored')
  const { clicks, logs, dropped } = clicksOn(db, { stopWaitMs: 200 })
  relay.cut()
  for (const ip of ['24.0.0.7', '24.0.1.7', '24.0.2.7']) await clicks.record(readerAt(ip), known)
  await clicks.stop()
  assert.deepEqual(await dropped(), [['store_away', 3]])
  assert.deepEqual(
    logs.map(({ level, clicks: lost }) => [level, lost]),
    [['error', 3]],
  )
})

test('clicks that the store refuses are counted apart, told once, and so is the end of it', async () => {
  const known = (await findShown(world.store.db, [(await shown()).id]))[0] ?? assert.fail('not stored')
  const { clicks, logs, dropped } = clicksOn(world.store.db)
  // As after a backup was restored: its recommendation is not there any more.
  for (const ip of ['25.0.0.7', '25.0.1.7']) await clicks.record(readerAt(ip), { ...known, id: clickOn(known.id).id })
  await clicks.record(readerAt('25.0.2.7'), known)
  await clicks.stop()
  assert.deepEqual(await dropped(), [['refused', 2]])
  assert.deepEqual(
    logs.map(({ level, lost }) => [level, lost]),
    [
      ['error', undefined],
      ['info', 2],
    ],
  )
})

test('a store that is too slow for as many clicks as wait gets fewer at once, and takes them all', async () => {
  const url = String(world.env.DATABASE_URL)
  const slow = openStore({ url, applicationName: 'parley test', statementTimeoutMs: 600 })
  after(() => slow.close())
  await sql`create function takes_long() returns trigger language plpgsql as
    $$ begin perform pg_sleep(0.02); return new; end $$`.execute(world.store.db)
  await sql`create trigger takes_long before insert on clicks for each row execute function takes_long()`.execute(
    world.store.db,
  )
  try {
    const ids = await show(world.store.db, match, world.project.id, 60)
    const known = (await findShown(world.store.db, ids)).filter((one) => one !== undefined)
    const { clicks, dropped } = clicksOn(slow.db, { stopWaitMs: 15_000 })
    const shownAt = new Date(Date.now() - 60_000)
    await Promise.all(known.map((one, n) => clicks.record(readerAt(`26.${n}.0.7`), { ...one, shownAt })))
    await clicks.stop()
    assert.deepEqual(await dropped(), [])
    const rows = await world.store.db
      .selectFrom('clicks')
      .select('verdict')
      .where('recommendation_id', 'in', ids)
      .execute()
    assert.equal(rows.length, 60)
  } finally {
    await sql`drop trigger takes_long on clicks`.execute(world.store.db)
  }
})

test('a click that comes while another version replaces the functions is stored once they are there', async () => {
  const { db } = world.store
  const known = (await findShown(db, [(await shown()).id]))[0] ?? assert.fail('not stored')
  const { clicks, dropped } = clicksOn(db)
  await sql`alter function clicks_charge rename to clicks_charge_aside`.execute(db)
  try {
    await clicks.record(readerAt('27.0.0.7'), known)
    assert.deepEqual(await verdictsOf(known.id), [])
  } finally {
    await sql`alter function clicks_charge_aside rename to clicks_charge`.execute(db)
  }
  await clicks.stop()
  assert.deepEqual(await verdictsOf(known.id), ['valid'])
  assert.deepEqual(await dropped(), [])
})
