/** Where the links of a recommendation lead, from the moment in which a reader can see them until long after. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { countTurns, insertRecommendations, setRecommendationStates } from '../../src/store/recommendations/records.ts'
import { startGateway } from '../conformance/second-gateway.ts'
import {
  addOffer,
  createFixedMatcher,
  OFFER_LINK,
  setMonetization,
  type FixedMatcher,
} from '../support/fixed-matcher.ts'
import { here } from '../support/operator.ts'
import { addProject, complete, createWorld, until, type TestProject, type World } from '../support/world.ts'

const ANSWER =
  'For flights, look for over-ear headphones with active noise cancelling, a long battery life and a case that folds flat.'
const BODY = {
  model: 'sim-small',
  messages: [{ role: 'user', content: `Which headphones for flights? [[sim text=${encodeURIComponent(ANSWER)}]]` }],
}

let world: World
let matcher: FixedMatcher
let match: Match
let project: TestProject
before(async () => {
  matcher = await createFixedMatcher()
  world = await createWorld({ env: { PARLEY_MATCHER_URL: matcher.url, PARLEY_PUBLIC_URL: 'https://api.example.com' } })
  project = await addProject(world.store, world.secrets)
  await setMonetization(world.store.db, project.id)
})
after(async () => {
  await world.close()
  await matcher.close()
})
beforeEach(async () => {
  match = await addOffer(world.store.db)
  matcher.reply = { outcome: 'matched', match }
})

const LINK = /\/r\/[\w-]+/

async function shownLink(): Promise<string> {
  const text = await (await complete(world, BODY, { project })).text()
  return LINK.exec(text)?.[0] ?? assert.fail(`no link: ${text}`)
}

async function operator(...args: string[]): Promise<void> {
  const { code, stderr } = await here(args, { env: world.env })
  assert.equal(code, 0, stderr)
}

async function clicksOf(offerId: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from clicks c join recommendations r on r.id = c.recommendation_id
    where r.offer_id = ${offerId}`.execute(world.store.db)
  return rows[0]?.n ?? 0
}

async function follow(
  path: string,
  url = world.url,
): Promise<{ status: number; leadsTo: string | null; page: string }> {
  const response = await fetch(`${url}${path}`, { redirect: 'manual' })
  return { status: response.status, leadsTo: response.headers.get('location'), page: await response.text() }
}

test('a link leads where it led when a reader was shown it, whatever the advertiser changes it to afterwards', async () => {
  const path = await shownLink()
  const link = 'https://northwind.example/something-else-entirely'
  await world.store.db.updateTable('offers').set({ link }).where('id', '=', match.offerId).execute()
  assert.equal((await follow(path)).leadsTo, OFFER_LINK)
  assert.equal((await follow(await shownLink())).leadsTo, link)
})

test('a link passes through the network that the operator chose for its advertiser, is counted first, and says so', async () => {
  const path = await shownLink()
  const template = 'https://network.example/click?id=42&url={lpurl}'
  await operator('advertiser', 'tracking', match.advertiserId, template)
  const { status, leadsTo } = await follow(path)
  assert.equal(status, 302)
  assert.equal(leadsTo, `https://network.example/click?id=42&url=${encodeURIComponent(OFFER_LINK)}`)
  const why = await follow(path.replace('/r/', '/w/'))
  assert.match(why.page, /<dt>Link passes through<\/dt><dd>network\.example<\/dd>/)
  assert.match(why.page, /network\.example counts visits for .+ may set a cookie of its own/)

  await operator('advertiser', 'click-id', match.advertiserId, 'on')
  const named = new URL((await follow(path)).leadsTo ?? '')
  assert.match(named.searchParams.get('url') ?? '', /[?&]parley_click=[0-9a-f-]{36}$/)
  await until(async () => (await clicksOf(match.offerId)) === 2)

  await operator('advertiser', 'click-id', match.advertiserId, 'off')
  await operator('advertiser', 'tracking', match.advertiserId, 'off')
  assert.equal((await follow(path)).leadsTo, OFFER_LINK)
  assert.doesNotMatch((await follow(path.replace('/r/', '/w/'))).page, /cookie of its own|passes through/)
  assert.equal(
    (await here(['advertiser', 'tracking', match.advertiserId, 'https://{lpurl}'], { env: world.env })).code,
    2,
  )
})

test('a link leads nowhere, and says so, once its offer may no longer be advertised; and again when it may', async () => {
  const { db } = world.store
  const path = await shownLink()
  const setAdvertiser = (status: string) =>
    db.updateTable('advertisers').set({ status }).where('id', '=', match.advertiserId).execute()
  const setCampaign = (changes: { status?: string; ends_at?: Date | null }) =>
    db.updateTable('campaigns').set(changes).where('id', '=', match.campaignId).execute()
  const setOffer = (changes: { review?: string; removed_at?: Date | null }) =>
    db.updateTable('offers').set(changes).where('id', '=', match.offerId).execute()
  const withdrawals: [string, () => Promise<unknown>, () => Promise<unknown>][] = [
    ['advertiser suspended', () => setAdvertiser('suspended'), () => setAdvertiser('active')],
    ['campaign paused', () => setCampaign({ status: 'paused' }), () => setCampaign({ status: 'active' })],
    ['campaign over', () => setCampaign({ ends_at: new Date(0) }), () => setCampaign({ ends_at: null })],
    ['offer rejected', () => setOffer({ review: 'rejected' }), () => setOffer({ review: 'approved' })],
    ['offer waits for review', () => setOffer({ review: 'pending' }), () => setOffer({ review: 'approved' })],
    ['offer removed', () => setOffer({ removed_at: new Date() }), () => setOffer({ removed_at: null })],
  ]
  for (const [name, withdraw, restore] of withdrawals) {
    await withdraw()
    const { status, leadsTo, page } = await follow(path)
    assert.deepEqual({ status, leadsTo }, { status: 410, leadsTo: null }, name)
    assert.match(page, /no longer available/)
    assert.ok(!page.includes('northwind.example'), 'the page does not lead there either')
    const why = await follow(path.replace('/r/', '/w/'))
    assert.equal(why.status, 200, 'why it was shown is still explained')
    await restore()
    assert.equal((await follow(path)).leadsTo, OFFER_LINK, name)
  }
})

test('a link leads to its offer at every gateway from the moment in which a reader can see it', async () => {
  const other = await startGateway(world)
  for (let n = 0; n < 30; n++) {
    const response = await complete(world, { ...BODY, stream: true }, { project })
    const reader = response.body?.getReader() ?? assert.fail('no body')
    let text = ''
    let isOver = false
    while (!LINK.test(text) && !isOver) {
      const { value, done } = await reader.read()
      text += new TextDecoder().decode(value)
      isOver = done
    }
    const path = LINK.exec(text)?.[0] ?? assert.fail(`no link: ${text}`)
    for (const url of [other.url, world.url]) {
      assert.equal((await follow(path, url)).leadsTo, OFFER_LINK)
      assert.equal((await follow(path.replace('/r/', '/w/'), url)).status, 200)
    }
    await reader.cancel()
  }
})

async function shownContent(url = world.url): Promise<string> {
  const { choices } = (await (await complete({ ...world, url }, BODY, { project })).json()) as {
    choices: { message: { content: string } }[]
  }
  return choices[0]?.message.content ?? ''
}

test('a recommendation that the store does not take in time is not shown, and the answer does not wait for it', async () => {
  // One that waits no longer than gateways do. The store takes nothing until the answer is there.
  const { url } = await startGateway(world)
  await world.store.db.transaction().execute(async (tx) => {
    await sql`lock table recommendations in share row exclusive mode`.execute(tx)
    assert.equal(await shownContent(url), ANSWER)
  })
  await shownLink()
})

test('an offer that was withdrawn is not shown, also while a matcher still has it', async () => {
  const setStatus = (status: string) =>
    world.store.db.updateTable('advertisers').set({ status }).where('id', '=', match.advertiserId).execute()
  await setStatus('suspended')
  assert.equal(await shownContent(), ANSWER)
  await setStatus('active')
  await shownLink()
})

test('a record says delivered only of what reached its reader', async () => {
  const stateOf = async () => {
    const rows = await world.store.db
      .selectFrom('recommendations')
      .select('state')
      .where('offer_id', '=', match.offerId)
      .execute()
    return rows.map(({ state }) => state)
  }
  await shownLink()
  await until(async () => (await stateOf()).includes('delivered'))
  assert.deepEqual(await stateOf(), ['delivered'])
})

test('a record that is sent again, because the answer to the first time was lost, is written once', async () => {
  const { db } = world.store
  const known = { projectId: project.id, callId: uuidv7(), turn: 1, label: 'Ad', relevance: 0.5, priceNanos: 1n }
  const conversation = randomBytes(32)
  const record = { ...match, ...known, id: uuidv7(), conversation }
  const unknown = { ...record, id: uuidv7(), offerId: uuidv7() }
  assert.deepEqual(await insertRecommendations(db, [unknown, record]), [false, true])
  await setRecommendationStates(db, [{ id: record.id, state: 'delivered' }])
  assert.deepEqual(await insertRecommendations(db, [record, unknown]), [true, false])
  const rows = await db.selectFrom('recommendations').select('state').where('offer_id', '=', match.offerId).execute()
  assert.deepEqual(rows, [{ state: 'delivered' }])
  const [restraint] = await countTurns(db, [{ projectId: project.id, digest: conversation }])
  assert.deepEqual(restraint?.offers, [match.offerId])
  assert.deepEqual([restraint.served, restraint.lastTurn], [1, 1])
})
