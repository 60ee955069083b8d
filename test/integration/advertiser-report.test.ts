import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { DAY_MS } from '../../src/rules/durations.ts'
import { KEPT_MS } from '../../src/rules/retention.ts'
import { creditAdvertiser } from '../../src/store/billing/wallets.ts'
import type { ReportKey } from '../../src/rules/recommendations/advertiser-report.ts'
import { addUpAdvertiserDays, sumAdvertiserDays } from '../../src/store/offers/advertiser-days.ts'
import { readAdvertiserReport } from '../../src/store/offers/advertiser-report.ts'
import { addChances } from '../../src/store/offers/campaign-chances.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { addOffer as addCatalogueOffer } from '../support/catalogue.ts'
import { click, show } from '../support/clicks.ts'
import { told } from '../support/operator.ts'
import { createWorkerWorld, PERIODS_MS, type WorkerWorld } from '../support/worker-world.ts'

/** The reports that advertisers get, added up from the records that gateways write. */

let world: WorkerWorld
let projectId: string

before(async () => {
  let url = ''
  world = await createWorkerWorld({ prepare: (databaseUrl) => Promise.resolve(void (url = databaseUrl)) })
  Object.assign(process.env, { DATABASE_URL: url, PARLEY_SECRET: 'a-secret-of-the-report-test-which-is-long-enough' })
  ;({ id: projectId } = await world.newProject())
})
after(() => world.close())

const PRICE = 100_000_000n
let offers = 0

async function addOffer(changes: Partial<Match> = {}, of?: Match): Promise<Match> {
  offers += 1
  const named = { advertiser: of?.advertiser ?? `Lamps ${offers}`, headline: `Lamp ${offers}`, benefit: '' }
  const domain = `lamps-${offers}.example`
  const added = await addCatalogueOffer(world.store.db, { ...named, domain, category: `Home > Lamp ${offers}` })
  const { store } = world
  const id = uuidv7()
  const credit = { advertiserId: added.advertiserId, amount: 1_000_000_000_000n, kind: 'grant' as const }
  await creditAdvertiser(store.db, { ...credit, id, reference: id, reason: null })
  return { ...added, ...named, price: undefined, relevance: 0.7, priceNanos: String(PRICE), ...changes }
}

/** All that is written by now. */
async function addUp(boundary = new Date()): Promise<void> {
  while (((await addUpAdvertiserDays(world.store.db, boundary, DAY_MS)) ?? boundary) < boundary);
}

const dayOf = (at: Date) => at.toISOString().slice(0, 10)
const today = () => dayOf(new Date())

async function sumsOf(match: Match, by: ReportKey, { from = today(), to = today() } = {}) {
  const { advertiserId } = match
  const rows = await sumAdvertiserDays(world.store.db, { advertiserId, by, from, to, servesMin: 10, most: 100 })
  return rows
    .map(({ key, event, times, spentNanos }) => [key, event, times, spentNanos])
    .toSorted((a, b) => (String(a) < String(b) ? -1 : 1))
}

test('serves and clicks are counted once by each of what a report is made of, however often the worker comes by', async () => {
  const hint = 'for people who read at night'
  const match = await addOffer({ hint })
  const shown = await show(world.store.db, match, projectId, 12)
  await show(world.store.db, { ...match, hint: undefined }, projectId, 10)
  await click(world.store.db, shown[0]!)
  await click(world.store.db, shown[0]!)
  await click(world.store.db, shown[1]!, { verdict: 'bot' })
  const { db } = world.store
  const look = () => world.pass('add up advertiser days', PERIODS_MS['add up advertiser days'])
  await look()
  assert.deepEqual(await sumsOf(match, 'campaign'), [], 'what was delivered may not be written down yet')
  const then = sql<Date>`now() - interval '121 seconds'`
  await db.updateTable('recommendations').set({ created_at: then }).execute()
  await db.updateTable('clicks').set({ written_at: then }).execute()
  await db
    .updateTable('advertiser_days_progress')
    .set({ through: sql<Date>`now() - interval '1 hour'` })
    .execute()
  await look()
  await look()
  const clicks = (key: string) => [
    [key, 'bot', 1n, 0n],
    [key, 'repeat', 1n, 0n],
  ]
  const all = (key: string) => [...clicks(key), [key, 'serve', 22n, 0n], [key, 'valid', 1n, PRICE]]
  assert.deepEqual(await sumsOf(match, 'campaign'), all(match.campaignId))
  assert.deepEqual(await sumsOf(match, 'offer'), all(match.offerId))
  assert.deepEqual(await sumsOf(match, 'category'), all(`Home > Lamp ${offers}`))
  assert.deepEqual(await sumsOf(match, 'day'), all(today()))
  assert.deepEqual(await sumsOf(match, 'hint'), [
    ['', 'serve', 10n, 0n],
    ...clicks(hint),
    [hint, 'serve', 12n, 0n],
    [hint, 'valid', 1n, PRICE],
  ])
  assert.deepEqual(await sumsOf(match, 'campaign', { from: '2999-01-01', to: '2999-12-31' }), [])
  assert.deepEqual(await sumsOf(match, 'campaign', { from: '2000-01-01', to: '2000-12-31' }), [], 'nor before')
})

test('what nobody was shown, and what a publisher tries out, is nothing to an advertiser', async () => {
  const match = await addOffer()
  const shown = await show(world.store.db, match, projectId, 12)
  const { db } = world.store
  await db.updateTable('recommendations').set({ state: 'test' }).where('id', '=', shown[0]!).execute()
  await db.updateTable('recommendations').set({ state: 'aborted' }).where('id', '=', shown[1]!).execute()
  await click(db, shown[0]!, { verdict: 'test' })
  await addUp()
  assert.deepEqual(await sumsOf(match, 'campaign'), [[match.campaignId, 'serve', 10n, 0n]])
})

test('rows with fewer than ten serves are one row of others, and nobody else’s are among them', async () => {
  const match = await addOffer()
  const [few, fewer, other] = [await addOffer({}, match), await addOffer({}, match), await addOffer()]
  await show(world.store.db, match, projectId, 10)
  const [served = ''] = await show(world.store.db, { ...few, hint: 'few' }, projectId, 9)
  await show(world.store.db, { ...fewer, hint: 'fewer' }, projectId, 2)
  await show(world.store.db, other, projectId, 30)
  await click(world.store.db, served)
  await addUp()
  assert.deepEqual(await sumsOf(match, 'hint'), [
    ['', 'serve', 10n, 0n],
    [null, 'serve', 11n, 0n],
    [null, 'valid', 1n, PRICE],
  ])
})

test('a click that was taken back is no longer paid for, though it had been added up before', async () => {
  const match = await addOffer({ hint: 'for cooks' })
  const [first = '', second = ''] = await show(world.store.db, match, projectId, 10)
  await click(world.store.db, first)
  await click(world.store.db, second)
  await addUp()
  const { id } = await world.store.db
    .selectFrom('clicks')
    .select('id')
    .where('recommendation_id', '=', first)
    .executeTakeFirstOrThrow()
  await sql`select click_reverse(${id}, 'click farm')`.execute(world.store.db)
  await addUp()
  await addUp()
  for (const [by, key] of [
    ['hint', 'for cooks'],
    ['campaign', match.campaignId],
    ['day', today()],
  ] as const)
    assert.deepEqual(await sumsOf(match, by), [
      [key, 'reversed', 1n, PRICE],
      [key, 'serve', 10n, 0n],
      [key, 'valid', 2n, 2n * PRICE],
    ])
})

test('offers of a span over several months are those of its days, and of a whole month its sum', async () => {
  const match = await addOffer()
  const { db } = world.store
  const { advertiserId, campaignId, offerId: value } = match
  const days = ['2026-01-31', '2026-02-01', '2026-02-28', '2026-03-01', '2026-03-31', '2026-04-01']
  for (const [n, day] of days.entries()) {
    const until = Array.from({ length: 31 }, (_, d) => (d + 1 >= Number(day.slice(8)) ? 10 ** n : 0))
    await sql`insert into advertiser_offer_months as m (advertiser_id, month, offer_id, campaign_id, served_until)
      values (${advertiserId}, date_trunc('month', ${day}::date), ${value}, ${campaignId}, ${until})
      on conflict (advertiser_id, month, offer_id, campaign_id) do update
        set served_until = array(select a + b from unnest(m.served_until, excluded.served_until) x (a, b))`.execute(db)
    await sql`insert into advertiser_days (advertiser_id, dimension, day, campaign_id, value, event, times)
      values (${advertiserId}, 'offer', ${day}, ${campaignId}, ${value}, 'serve', ${10 ** n})`.execute(db)
  }
  const served = async (from: string, to: string, servesMin: number) => {
    const asked = { advertiserId, by: 'offer' as const, from, to, servesMin, most: 10 }
    return (await sumAdvertiserDays(db, asked)).find(({ key }) => key !== null)?.times
  }
  for (const [from, to, times] of [
    ['2026-01-31', '2026-04-01', 111_111n],
    ['2026-02-01', '2026-03-31', 11_110n],
    ['2026-02-01', '2026-02-28', 110n],
    ['2026-02-02', '2026-03-30', 1_100n],
    ['2026-03-01', '2026-03-30', 1_000n],
    ['2026-03-02', '2026-03-31', 10_000n],
    ['2026-01-31', '2026-01-31', 1n],
  ] as const) {
    assert.equal(await served(from, to, Number(times)), times, `${from} to ${to}`)
    assert.equal(await served(from, to, Number(times) + 1), undefined, `${from} to ${to}, fewer than asked for`)
  }
})

test('of a month that is partly forgotten, only the days that are kept are told', async () => {
  const match = await addOffer()
  const { db } = world.store
  const { advertiserId, campaignId, offerId } = match
  const first = new Date(Date.now() - KEPT_MS.advertiserDays)
  const before = new Date(first.getTime() - DAY_MS)
  // All but what was served on the first day that is kept was served the day before, which may be of another month.
  for (const [at, times] of [
    [before, 100],
    [first, 25],
  ] as const) {
    const until = Array.from({ length: 31 }, (_, d) => (d + 1 >= at.getUTCDate() ? times : 0))
    await sql`insert into advertiser_offer_months as m (advertiser_id, month, offer_id, campaign_id, served_until)
      values (${advertiserId}, date_trunc('month', ${dayOf(at)}::date), ${offerId}, ${campaignId}, ${until})
      on conflict (advertiser_id, month, offer_id, campaign_id) do update
        set served_until = array(select a + b from unnest(m.served_until, excluded.served_until) x (a, b))`.execute(db)
  }
  const asked = { advertiserId, by: 'offer' as const, from: dayOf(before), to: today(), most: 10 }
  const { rows } = await readAdvertiserReport(db, asked)
  assert.deepEqual(
    rows.map(({ key, serves }) => [key, serves]),
    [[offerId, 25n]],
  )
})

test('a conversion is counted once, with the click that it is about, however late it is told of', async () => {
  const match = await addOffer({ hint: 'for those who buy' })
  const { db } = world.store
  const [shown = ''] = await show(db, match, projectId, 10)
  await click(db, shown)
  await addUp()
  const { id: clickId } = await db
    .selectFrom('clicks')
    .select('id')
    .where('recommendation_id', '=', shown)
    .executeTakeFirstOrThrow()
  for (const verdict of ['counted', 'counted', 'too_late'])
    await sql`insert into conversions (id, advertiser_id, event_id, click_id, campaign_id, offer_id, verdict, amount, currency,
        happened_at)
      values (gen_random_uuid(), ${match.advertiserId}, ${uuidv7()}, ${clickId}, ${match.campaignId}, ${match.offerId},
        ${verdict}, 12.5, 'EUR', now())`.execute(db)
  await addUp()
  await addUp()
  for (const [by, key] of [
    ['hint', 'for those who buy'],
    ['offer', match.offerId],
    ['day', today()],
  ] as const)
    assert.deepEqual((await sumsOf(match, by))[0], [key, 'conversion', 2n, 0n])
})

test('what was taken back and told of before this version is added up when it first looks', async () => {
  const match = await addOffer()
  const { db } = world.store
  const [shown = ''] = await show(db, match, projectId, 10)
  await click(db, shown)
  await addUp()
  const { id } = await db
    .selectFrom('clicks')
    .select('id')
    .where('recommendation_id', '=', shown)
    .executeTakeFirstOrThrow()
  await sql`select click_reverse(${id}, 'click farm')`.execute(db)
  // The reversals and conversions of all others are counted already and would be counted again, so they are deleted.
  await sql`update clicks set reversed_at = null where id <> ${id}`.execute(db)
  await sql`delete from conversions`.execute(db)
  await sql`update advertiser_days_progress set changes_through = null`.execute(db)
  await addUp()
  assert.deepEqual((await sumsOf(match, 'campaign'))[0], [match.campaignId, 'reversed', 1n, PRICE])
})

test('two workers at once count nothing twice: one steps aside', async () => {
  const match = await addOffer()
  await show(world.store.db, match, projectId, 10)
  const boundary = new Date()
  await Promise.all([1, 2, 3].map(() => addUpAdvertiserDays(world.store.db, boundary, DAY_MS)))
  await addUp(boundary)
  assert.deepEqual(await sumsOf(match, 'campaign'), [[match.campaignId, 'serve', 10n, 0n]])
})

test('the command shows a row for each, what it cost, and what limits a campaign', async () => {
  const match = await addOffer({ hint: 'for those who read at night' })
  const [first = ''] = await show(world.store.db, match, projectId, 12)
  await click(world.store.db, first)
  await addUp()
  const report = (...args: string[]) => told('advertiser', 'report', match.advertiserId, ...args)
  assert.match(
    await report('--by', 'hint'),
    /for those who read at night +12 +1 +- +0 +\$0\.10 +\$0\.10\n\nCounted until/,
  )
  assert.match(await report(), /LIMITED BY\n.* 12 +1 +- +0 +\$0\.10 +\$0\.10 +nothing\n/)
  assert.match(await report('--by', 'offer', '--days', '1'), new RegExp(`${match.headline} +12`))
  const chances = { open: 1_000n, fitted: 40n, contended: 30n, won: 2n }
  await addChances(world.store.db, [{ campaignId: match.campaignId, ...chances }])
  assert.match(await report(), / bid\n/, 'others bid more')
  await addChances(world.store.db, [{ campaignId: match.campaignId, ...chances, fitted: 200n }])
  assert.match(await report(), / fit\n/, 'others fit better')
})

test('a step counts all that was written until its end, and the next one begins there', async () => {
  const match = await addOffer({ hint: 'x'.repeat(400) })
  const { db } = world.store
  const { through } = await db.selectFrom('advertiser_days_progress').select('through').executeTakeFirstOrThrow()
  const shown = await show(db, match, projectId, 12)
  // On the edge of a step, on both sides of it, and before all of them.
  for (const [n, seconds] of [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4].entries())
    await sql`update recommendations set created_at = ${through}::timestamptz + ${seconds} * interval '1 second'
      where id = ${shown[n]}`.execute(db)
  const boundary = new Date(through!.getTime() + 4_000)
  for (let n = 0; n < 4; n++) await addUpAdvertiserDays(db, boundary, 1_000)
  // The row written at the very moment up to which everything had been counted was counted before this.
  assert.deepEqual(await sumsOf(match, 'campaign'), [[match.campaignId, 'serve', 11n, 0n]])
  assert.deepEqual(
    (await sumsOf(match, 'hint')).map(([key]) => String(key).length),
    [300],
  )
})
