import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/rules/durations.ts'
import { KEPT_MS } from '../../src/rules/retention.ts'
import type { Store } from '../../src/store/database.ts'
import { findShown } from '../../src/store/recommendations/clicks.ts'
import { listRecommendations } from '../../src/store/recommendations/reports.ts'
import { beatMatcher } from '../../src/store/recommendations/matchers.ts'
import { addOffer } from '../support/catalogue.ts'
import { addShop } from '../support/feeds.ts'
import { createSchedule } from '../support/schedule.ts'
import { at, createWorkerWorld, erasedBy, PERIODS_MS, type WorkerWorld } from '../support/worker-world.ts'

/** The counterpart of worker-retention.test.ts for offers, recommendations and advertisers. */

let world: WorkerWorld
let store: Store
before(async () => {
  world = await createWorkerWorld()
  store = world.store
})
after(() => world.close())

/** By how much a row is past the edge, or before it. */
const A_MOMENT_MS = MINUTE_MS

function idOfAge(ageMs: number): string {
  return uuidv7(Date.now() - ageMs)
}

test('feed runs go after 90 days, but the newest of a feed stays', async () => {
  await addOffer(store.db, { advertiser: 'Runner', domain: 'runner.example', headline: 'Shoe' })
  await addOffer(store.db, { advertiser: 'Sleeper', domain: 'sleeper.example', headline: 'Bed' })
  const { rows: feeds } = await sql<{ id: string }>`
    select f.id from feeds f join advertisers a on a.id = f.advertiser_id where a.name in ('Runner', 'Sleeper')
    order by a.name`.execute(store.db)
  const run = (feed: number, format: string, ageMs: number) => {
    return { id: idOfAge(ageMs), feed_id: String(feeds[feed]?.id), format, started_at: at(-ageMs) }
  }
  const runs = [
    run(0, 'past', KEPT_MS.feedRuns + A_MOMENT_MS),
    run(0, 'kept', KEPT_MS.feedRuns - A_MOMENT_MS),
    run(1, 'past', KEPT_MS.feedRuns + HOUR_MS),
    run(1, 'newest', KEPT_MS.feedRuns + A_MOMENT_MS),
  ]
  await store.db.insertInto('feed_runs').values(runs).execute()
  assert.deepEqual(await erasedBy(world, 'forget feed runs', 'feed_runs', 'format'), {
    before: ['kept', 'newest', 'past', 'past'],
    after: ['kept', 'newest'],
    counted: 2,
  })
})

test('uploaded feeds go after a day, published or not', async () => {
  const { advertiserId, campaignId } = await addOffer(store.db, {
    advertiser: 'Sender',
    domain: 'sender.example',
    headline: 'Letter',
  })
  const upload = (name: string, ageMs: number, state: string) => ({
    id: idOfAge(ageMs),
    advertiser_id: advertiserId,
    campaign_id: campaignId,
    feed: 'main',
    file_name: name,
    state,
    due_at: null,
  })
  const uploads = [
    upload('past', KEPT_MS.feedUploads + A_MOMENT_MS, 'checked'),
    upload('past', KEPT_MS.feedUploads + DAY_MS, 'published'),
    upload('kept', KEPT_MS.feedUploads - A_MOMENT_MS, 'checked'),
  ]
  await store.db.insertInto('feed_uploads').values(uploads).execute()
  assert.deepEqual(await erasedBy(world, 'forget uploaded feeds', 'feed_uploads', 'file_name'), {
    before: ['kept', 'past', 'past'],
    after: ['kept'],
    counted: 2,
  })
})

test('offers go a month after they were removed, but not one that a person rejected', async () => {
  const removed = { removed_at: at(-KEPT_MS.removedOffers - A_MOMENT_MS) }
  const changes = {
    past: removed,
    kept: { removed_at: at(-KEPT_MS.removedOffers + A_MOMENT_MS) },
    there: {},
    refused: { ...removed, review: 'rejected', reviewed_at: at(-DAY_MS) },
    doubted: { ...removed, review: 'rejected' },
  }
  await store.db.deleteFrom('offers').execute()
  for (const [headline, change] of Object.entries(changes)) {
    const { offerId } = await addOffer(store.db, { advertiser: 'Lamps', domain: 'lamps.example', headline })
    await store.db
      .updateTable('offers')
      .set({ item_id: headline, ...change })
      .where('id', '=', offerId)
      .execute()
  }
  assert.deepEqual(await erasedBy(world, 'forget offers', 'offers', 'headline'), {
    before: ['doubted', 'kept', 'past', 'refused', 'there'],
    after: ['kept', 'refused', 'there'],
    counted: 2,
  })
})

test('what was recommended stays readable when its offer is erased, also what the version before wrote', async () => {
  const { id } = await world.newProject()
  const offer = await addOffer(store.db, { advertiser: 'Gone', domain: 'gone.example', headline: 'A red lamp' })
  const recommendation = idOfAge(2 * HOUR_MS)
  const record = { id: recommendation, project_id: id, call_id: uuidv7(), advertiser_id: offer.advertiserId }
  await store.db
    .insertInto('recommendations')
    .values({ ...record, campaign_id: offer.campaignId, offer_id: offer.offerId, ...SHOWN })
    .execute()
  const removed_at = at(-KEPT_MS.removedOffers - A_MOMENT_MS)
  await store.db.updateTable('offers').set({ removed_at }).where('id', '=', offer.offerId).execute()
  // The job of another worker, which has not looked at recommendations yet.
  const [linkBefore] = await findShown(store.db, [recommendation])
  const fresh = createWorkerOfItsOwn()
  await fresh('forget offers')
  const offers = store.db.selectFrom('offers').select('id').where('id', '=', offer.offerId)
  assert.deepEqual(await offers.execute(), [])
  const listed = await store.db.transaction().execute((tx) => listRecommendations(tx, id, { most: 10 }))
  assert.deepEqual(
    listed.map(({ headline, advertiser }) => ({ headline, advertiser })),
    [{ headline: 'A red lamp', advertiser: 'Gone' }],
  )
  assert.deepEqual(await findShown(store.db, [recommendation]), [linkBefore])
})

const SHOWN = {
  turn: 1,
  price_nanos: 1n,
  relevance: 1,
  label: 'Ad',
  state: 'delivered',
  link: 'https://gone.example/item',
}

function createWorkerOfItsOwn() {
  const schedule = createSchedule()
  world.startWorker(schedule.repeat)
  return (name: keyof typeof PERIODS_MS) => schedule.pass(name, PERIODS_MS[name])
}

test('vectors go when no offer and no hint has their text any more, however many there are', async () => {
  await store.db.deleteFrom('text_vectors').execute()
  const { offerId, campaignId } = await addOffer(store.db, {
    advertiser: 'Vectors',
    domain: 'vectors.example',
    headline: 'Kept',
  })
  const { text_hash: ofOffer } = await store.db
    .selectFrom('offers')
    .select('text_hash')
    .where('id', '=', offerId)
    .executeTakeFirstOrThrow()
  const hints = { context_hints: ['für Läufer'], negative_hints: ['war'] }
  await store.db.updateTable('campaigns').set(hints).where('id', '=', campaignId).execute()
  const digestOf = (text: string) => createHash('sha256').update(text).digest()
  const used = [ofOffer, digestOf('für Läufer'), digestOf('war')]
  const vector = Buffer.alloc(384)
  await store.db
    .insertInto('text_vectors')
    .values(['one', 'two'].flatMap((model) => used.map((digest) => ({ model, digest, vector }))))
    .execute()
  await sql`insert into text_vectors (model, digest, vector)
    select 'one', sha256(n::text::bytea), ''::bytea from generate_series(1, 2500) as n`.execute(store.db)
  const { before, after, counted } = await erasedBy(world, 'forget text vectors', 'text_vectors', 'digest')
  assert.equal(before.length, 2_506)
  const hexes = used.map((digest) => `\\x${digest.toString('hex')}`)
  assert.deepEqual(after, [...hexes, ...hexes].toSorted())
  assert.equal(counted, 2_500)
})

test('vectors of an encoder go a week after the last matcher that used it, once another one is used', async () => {
  const { db } = store
  await db.deleteFrom('text_vectors').execute()
  await db.deleteFrom('encoders').execute()
  const { offerId } = await addOffer(db, { advertiser: 'Encoders', domain: 'encoders.example', headline: 'Kept' })
  const offer = db.selectFrom('offers').select('text_hash as digest').where('id', '=', offerId)
  const { digest } = await offer.executeTakeFirstOrThrow()
  const vectors = ['before', 'now', 'unknown'].map((model) => ({ model, digest, vector: Buffer.alloc(384) }))
  await db.insertInto('text_vectors').values(vectors).execute()
  const beat = (encoder: string) =>
    beatMatcher(db, { id: uuidv7(), host: 'host', state: 'ready', problem: undefined, offers: 1, encoder })
  const modelsLeft = async () => {
    await erasedBy(world, 'forget text vectors', 'text_vectors', 'digest')
    const rows = await db.selectFrom('text_vectors').select('model').orderBy('model').execute()
    return rows.map(({ model }) => model)
  }
  const usedDaysAgo = (days: number) =>
    sql`update encoders set used_at = now() - ${days} * interval '1 day' where model = 'before'`.execute(db)
  await beat('before')
  await usedDaysAgo(100)
  assert.equal((await modelsLeft()).length, 3, 'matchers that rest for months find their vectors')
  await beat('now')
  await usedDaysAgo(6)
  assert.equal((await modelsLeft()).length, 3, 'whoever goes back to the version before finds them')
  await usedDaysAgo(8)
  assert.deepEqual(await modelsLeft(), ['now', 'unknown'])
})

test('why replies had no recommendation is forgotten after 90 days', async () => {
  const { id } = await world.newProject()
  const outcome = (name: string, ageMs: number) => ({ project_id: id, hour: at(-ageMs), outcome: name, calls: 1n })
  const edgeMs = KEPT_MS.recommendationOutcomes
  const rows = [outcome('past', edgeMs + A_MOMENT_MS), outcome('kept', edgeMs - A_MOMENT_MS)]
  await store.db.insertInto('recommendation_outcomes').values(rows).execute()
  assert.deepEqual(await erasedBy(world, 'forget recommendation outcomes', 'recommendation_outcomes', 'outcome'), {
    before: ['kept', 'past'],
    after: ['kept'],
    counted: 1,
  })
})

test('what readers have reported is forgotten after 90 days', async () => {
  const { id } = await world.newProject()
  const edgeMs = KEPT_MS.readerReports
  const report = (reason: string, ageMs: number) => {
    const ids = { recommendation_id: uuidv7(), project_id: id, offer_id: uuidv7() }
    return { ...ids, reason, network_tag: randomBytes(16), created_at: at(-ageMs) }
  }
  const rows = [report('scam', edgeMs + A_MOMENT_MS), report('other', edgeMs - A_MOMENT_MS)]
  await store.db.insertInto('recommendation_reports').values(rows).execute()
  assert.deepEqual(await erasedBy(world, 'forget reader reports', 'recommendation_reports', 'reason'), {
    before: ['other', 'scam'],
    after: ['other'],
    counted: 1,
  })
})

test('of what advertisers tell, what does not count is forgotten after 30 days, and what counts is kept', async () => {
  const shop = await addShop(store.db, 'Conversions')
  const edgeMs = KEPT_MS.uncountedConversions
  const told = (eventId: string, verdict: string, ageMs: number) => ({
    id: uuidv7(),
    advertiser_id: shop.advertiserId,
    event_id: eventId,
    click_id: uuidv7(),
    verdict,
    amount: '10',
    currency: 'EUR',
    happened_at: at(-ageMs),
    created_at: at(-ageMs),
  })
  const rows = [
    told('counted', 'counted', edgeMs + DAY_MS),
    told('kept', 'unknown_click', edgeMs - A_MOMENT_MS),
    told('past', 'unknown_click', edgeMs + A_MOMENT_MS),
    told('past too', 'too_late', edgeMs + A_MOMENT_MS),
  ]
  await store.db.insertInto('conversions').values(rows).execute()
  assert.deepEqual(await erasedBy(world, 'forget conversions', 'conversions', 'event_id'), {
    before: ['counted', 'kept', 'past', 'past too'],
    after: ['counted', 'kept'],
    counted: 2,
  })
})

test('days that advertisers are told of are forgotten after 366 days, of every dimension', async () => {
  const shop = await addShop(store.db, 'Days')
  const dayOf = (ageDays: number) => new Date(Date.now() - ageDays * DAY_MS).toISOString().slice(0, 10)
  for (const [value, age] of [
    ['past', 367],
    ['kept', 366],
  ] as const)
    for (const dimension of ['campaign', 'offer', 'hint', 'category'])
      await sql`insert into advertiser_days (advertiser_id, dimension, day, campaign_id, value, event, times)
        values (${shop.advertiserId}, ${dimension}, ${dayOf(age)}, ${shop.campaignId}, ${value}, 'serve', 1)`.execute(
        store.db,
      )
  assert.deepEqual(await erasedBy(world, 'forget advertiser days', 'advertiser_days', 'value'), {
    before: [...Array.from({ length: 4 }, () => 'kept'), ...Array.from({ length: 4 }, () => 'past')],
    after: Array.from({ length: 4 }, () => 'kept'),
    counted: 4,
  })
})

test('what limited a campaign is forgotten after 30 days', async () => {
  const shop = await addShop(store.db, 'Chances')
  for (const ageDays of [31, 30, 0])
    await sql`insert into campaign_chances (campaign_id, day, open, fitted, contended, won)
      values (${shop.campaignId}, (now() at time zone 'utc')::date - ${ageDays}::int, ${ageDays}, 0, 0, 0)`.execute(
      store.db,
    )
  assert.deepEqual(await erasedBy(world, 'forget campaign chances', 'campaign_chances', 'open'), {
    before: ['0', '30', '31'],
    after: ['0', '30'],
    counted: 1,
  })
})
