/** An advertiser's server tells what became of its clicks: over real sockets, from the link's address to the operator's report. */
import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { DAY_MS } from '../../src/rules/durations.ts'
import { tokenOf } from '../../src/rules/recommendations/link-token.ts'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { click, show } from '../support/clicks.ts'
import { addOffer, OFFER_LINK } from '../support/fixed-matcher.ts'
import { here } from '../support/operator.ts'
import { createWorld, type World } from '../support/world.ts'

let world: World
let match: Match
let key = ''
before(async () => {
  world = await createWorld()
})
after(() => world.close())
beforeEach(async () => {
  match = await addOffer(world.store.db)
  key = ((await operator('advertiser', 'conversion-key', match.advertiserId)) as { conversion_key: string })
    .conversion_key
})

async function operator(...args: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await here([...args, '--json'], { env: world.env })
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

async function shown(of = match): Promise<string> {
  const [id = ''] = await show(world.store.db, of, world.project.id)
  return id
}

/** Records a reader's click that long ago and returns its id. */
async function clicked(agoMs = 60_000, verdict: 'valid' | 'bot' = 'valid', of = match): Promise<string> {
  const id = uuidv7(Date.now() - agoMs)
  await click(world.store.db, await shown(of), { id, verdict })
  return id
}

async function tell(changes: Record<string, unknown> = {}, authorization = `Bearer ${key}`) {
  const event = {
    id: uuidv7(),
    event_type: 'purchase',
    timestamp: Math.floor(Date.now() / 1_000),
    value: 249.5,
    currency_code: 'EUR',
    user_data: { click_id: uuidv7() },
    ...changes,
  }
  const response = await fetch(`${world.url}/v1/conversions`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(event),
  })
  return { status: response.status, body: (await response.json()) as { id: string; verdict: string; message: string } }
}

const of = (clickId: string, more = {}) => ({ user_data: { click_id: clickId }, ...more })

test('a link names its click behind its own parameters only where the advertiser wants it, and that click converts', async () => {
  const { db } = world.store
  const signing = { version: world.secrets.version, key: createSecretKey(world.secrets.keyFor('recommendations')) }
  const recommendation = await shown()
  const token = tokenOf(recommendation, { projectId: world.project.id, words: match.headline }, signing)
  const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Firefox/131.0', accept: 'text/html' }
  const follow = async () => {
    const response = await fetch(`${world.url}/r/${token}`, { redirect: 'manual', headers })
    return response.headers.get('location') ?? ''
  }
  const link = `${OFFER_LINK}?a=%20b+c&d=é#top`
  const aMinuteAgo = new Date(Date.now() - 60_000)
  await db
    .updateTable('recommendations')
    .set({ link, created_at: aMinuteAgo })
    .where('id', '=', recommendation)
    .execute()
  assert.equal(await follow(), new URL(link).href)
  await operator('advertiser', 'click-id', match.advertiserId, 'on')
  const [, id = ''] = /\?a=%20b\+c&d=%C3%A9&parley_click=([\da-f-]{36})#top$/.exec(await follow()) ?? []
  const stored = await db.selectFrom('clicks').select('recommendation_id').where('id', '=', id).executeTakeFirst()
  assert.equal(stored?.recommendation_id, recommendation)
  assert.equal((await tell(of(id))).body.verdict, 'counted')
  await operator('advertiser', 'click-id', match.advertiserId, 'off')
  assert.equal(await follow(), new URL(link).href)
})

test('an event counts once, however often and however fast it is told, and says what it said first', async () => {
  const id = await clicked()
  const event = of(id, { id: 'order-1' })
  const told = await Promise.all(Array.from({ length: 20 }, () => tell(event)))
  assert.deepEqual(new Set(told.map(({ status, body }) => `${status} ${body.verdict} ${body.id}`)).size, 1)
  const changed = await tell({ ...event, value: 9_999 })
  assert.equal(changed.body.id, told[0]?.body.id)
  const other = await addOffer(world.store.db)
  const { conversion_key: theirs } = (await operator('advertiser', 'conversion-key', other.advertiserId)) as {
    conversion_key: string
  }
  assert.notEqual((await tell(event, `Bearer ${theirs}`)).body.id, told[0]?.body.id, 'ids are each advertiser’s own')
  const sums = await operator('advertiser', 'conversions', match.advertiserId)
  const counted = { campaign: 'Always', verdict: 'counted', currency: 'EUR', conversions: '1', value: '249.5' }
  assert.deepEqual(
    JSON.parse(JSON.stringify(sums), (_, value: unknown) => (value === 1 ? '1' : value)),
    [counted],
  )
})

test('what counts is a reader’s own click on this advertiser’s offer, and the seven days after it', async () => {
  const other = await addOffer(world.store.db)
  const verdictOf = async (event: Record<string, unknown>) => (await tell(event)).body.verdict
  const nowS = Math.floor(Date.now() / 1_000)
  const weekS = (7 * DAY_MS) / 1_000
  assert.equal(await verdictOf(of(uuidv7())), 'unknown_click')
  assert.equal(await verdictOf(of(await clicked(60_000, 'valid', other))), 'unknown_click')
  assert.equal(await verdictOf(of(await clicked(60_000, 'bot'))), 'no_reader')
  const old = await clicked(8 * DAY_MS)
  assert.equal(await verdictOf(of(old)), 'too_late')
  assert.equal(await verdictOf(of(old, { timestamp: nowS - DAY_MS / 1_000 - 5 })), 'counted')
  assert.equal(await verdictOf(of(old, { timestamp: nowS - DAY_MS / 1_000 + 60 })), 'too_late')
  assert.equal(await verdictOf(of(old, { timestamp: nowS - weekS - DAY_MS / 1_000 - 60 })), 'counted')
  assert.equal(await verdictOf(of(old, { timestamp: nowS - weekS - DAY_MS / 1_000 - 600 })), 'before_click')
})

test('who has a key fills no disk: what names no click is not kept, and of one click no more events than anybody has', async () => {
  const keptOf = async () =>
    (
      await world.store.db
        .selectFrom('conversions')
        .select('id')
        .where('advertiser_id', '=', match.advertiserId)
        .execute()
    ).length
  const id = await clicked()
  const early = { id: 'early', user_data: { click_id: uuidv7() } }
  for (let n = 0; n < 5; n++) assert.equal((await tell(early)).body.verdict, 'unknown_click')
  assert.equal(await keptOf(), 0)
  assert.equal((await tell(of(id, { id: 'early' }))).body.verdict, 'counted', 'a click that was stored late is found')
  const told = await Promise.all(Array.from({ length: 40 }, (_, n) => tell(of(id, { id: `order-${n}` }))))
  const verdicts = told.map(({ body }) => body.verdict)
  assert.deepEqual(
    ['counted', 'too_many'].map((verdict) => verdicts.filter((each) => each === verdict).length),
    [19, 21],
  )
  assert.equal(await keptOf(), 20)
  const again = told.find(({ body }) => body.verdict === 'counted')
  const n = told.indexOf(again!)
  assert.deepEqual((await tell(of(id, { id: `order-${n}` }))).body, again?.body)
})

test('without the advertiser’s newest key nothing is told, and a key of a publisher is none', async () => {
  const before = key
  const { secretKey, publishableKey } = world.project
  for (const authorization of ['', 'Bearer', `Bearer ${before.slice(0, -1)}`, `Bearer ${before}x`])
    assert.equal((await tell({}, authorization)).status, 401, authorization)
  for (const wrong of [secretKey, `${publishableKey}:${secretKey}`, `ply_ck_${'A'.repeat(43)}`])
    assert.equal((await tell({}, `Bearer ${wrong}`)).status, 401)
  assert.equal((await tell()).status, 200)
  await operator('advertiser', 'conversion-key', match.advertiserId)
  assert.equal((await tell()).status, 401)
  const stored = await world.store.db.selectFrom('advertisers').selectAll().execute()
  assert.ok(!JSON.stringify(stored).includes(before))
})

test('nothing about people is taken, and nothing that is no purchase', async () => {
  const click_id = uuidv7()
  const wrong = [
    { user_data: { click_id, email_address: ['0'.repeat(64)] } },
    { user_data: {} },
    { user_data: { click_id: 'x' } },
    { event_type: 'page_view' },
    { value: -1 },
    { value: '249' },
    { currency_code: 'eur' },
    { id: '' },
    { id: 'a\u0000b' },
    { id: 'a\ud800' },
    { timestamp: Math.floor(Date.now() / 1_000) + 600 },
    { event_ip_address: '203.0.113.7' },
  ]
  for (const changes of wrong) assert.equal((await tell(changes)).status, 422, JSON.stringify(changes))
  const send = async (body: string, type = 'application/json') => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': type }
    return (await fetch(`${world.url}/v1/conversions`, { method: 'POST', headers, body })).status
  }
  assert.deepEqual([await send('{'), await send('[]'), await send('{}', 'text/plain')], [400, 400, 415])
  assert.equal(await send(JSON.stringify({ id: 'x'.repeat(9_000) })), 400)
  const rows = await world.store.db
    .selectFrom('conversions')
    .selectAll()
    .where('advertiser_id', '=', match.advertiserId)
    .execute()
  assert.deepEqual(rows, [])
})
