/** A click on a recommendation, over real sockets: it leads to the offer whatever its verdict, and only a reader's is paid for. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { findAdvertiserBalance } from '../../src/store/billing/wallets.ts'
import { fund } from '../support/clicks.ts'
import {
  addOffer,
  createFixedMatcher,
  OFFER_LINK,
  setMonetization,
  type FixedMatcher,
} from '../support/fixed-matcher.ts'
import { addProject, complete, createWorld, until, type TestProject, type World } from '../support/world.ts'

const ANSWER = 'For flights, look for over-ear headphones with active noise cancelling and a long battery life.'
const BODY = {
  model: 'sim-small',
  messages: [{ role: 'user', content: `Which headphones for flights? [[sim text=${encodeURIComponent(ANSWER)}]]` }],
}
const READER = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0',
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-language': 'en-GB,en;q=0.5',
}
const FUNDS = 10_000_000_000n
const PRICE = 120_000_000n

let world: World
let matcher: FixedMatcher
let match: Match
let project: TestProject
/** Each test has readers of its own: too many from one place are nobody's. */
let network = 0
before(async () => {
  matcher = await createFixedMatcher()
  // The readers of this test are behind a proxy, as everywhere: it says where they are.
  const env = { PARLEY_MATCHER_URL: matcher.url, PARLEY_TRUSTED_PROXIES: '127.0.0.1' }
  world = await createWorld({ env })
  project = await addProject(world.store, world.secrets)
  await setMonetization(world.store.db, project.id)
})
after(async () => {
  await world.close()
  await matcher.close()
})
beforeEach(async () => {
  network += 1
  match = await addOffer(world.store.db)
  matcher.reply = { outcome: 'matched', match }
  await fund(world.store.db, match.advertiserId, FUNDS)
})

/** Shown to somebody a minute ago: who follows a link in the first second is nobody. */
async function shownLink(text?: string): Promise<string> {
  text ??= await (await complete(world, BODY, { project })).text()
  const path = /\/r\/[\w-]+/.exec(text)?.[0] ?? assert.fail(`no link: ${text}`)
  await until(async () => {
    const aMinuteAgo = new Date(Date.now() - 60_000)
    const { numUpdatedRows } = await world.store.db
      .updateTable('recommendations')
      .set({ created_at: aMinuteAgo })
      .where('offer_id', '=', match.offerId)
      .where('state', '=', 'delivered')
      .executeTakeFirst()
    return numUpdatedRows > 0n
  })
  return path
}

async function follow(path: string, headers: Record<string, string> = READER, method = 'GET'): Promise<void> {
  const from = { 'x-forwarded-for': `203.0.${network}.7` }
  const response = await fetch(`${world.url}${path}`, { method, redirect: 'manual', headers: { ...from, ...headers } })
  assert.deepEqual([response.status, response.headers.get('location')], [302, OFFER_LINK])
}

async function verdicts(): Promise<string[]> {
  const rows = await world.store.db
    .selectFrom('clicks')
    .select('verdict')
    .where('offer_id', '=', match.offerId)
    .orderBy('id')
    .execute()
  return rows.map(({ verdict }) => verdict)
}

const paid = async () => FUNDS - (await findAdvertiserBalance(world.store.db, match.advertiserId))

test('a reader’s click is stored and paid for when the redirect arrives, and the second one is free', async () => {
  const path = await shownLink()
  await follow(path)
  assert.deepEqual([await verdicts(), await paid()], [['valid'], PRICE])
  await follow(path)
  assert.deepEqual([await verdicts(), await paid()], [['valid', 'repeat'], PRICE])
})

test('programs, previews and whoever is in the publisher’s own network are led on and cost nothing', async () => {
  const path = await shownLink()
  await follow(path, { 'user-agent': 'curl/8.5.0', accept: '*/*' })
  await follow(path, { ...READER, 'sec-purpose': 'prefetch;prerender' })
  await follow(path, { ...READER, 'user-agent': 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)' })
  await follow(path, READER, 'HEAD')
  // The call itself came from there.
  await follow(path, { ...READER, 'x-forwarded-for': '127.0.0.1' })
  assert.deepEqual(await verdicts(), ['not_a_browser', 'prefetch', 'previewer', 'head', 'same_network'])
  assert.equal(await paid(), 0n)
  await follow(path)
  assert.equal(await paid(), PRICE)
})

/** With the secret of a session that the site asked for, from wherever. */
async function answeredInSession(site: string, reader: string): Promise<string> {
  const send = async (path: string, address: string, headers: Record<string, string>, body: object) => {
    const sent = { 'x-forwarded-for': address, 'content-type': 'application/json', ...headers }
    const response = await fetch(`${world.url}${path}`, { method: 'POST', headers: sent, body: JSON.stringify(body) })
    return response.text()
  }
  const { secret_key: secret, domain } = JSON.parse(await send('/v1/sessions', site, project.headers, {}))
  const keys = { 'x-publishable-key': project.publishableKey, 'x-secret-key': secret, origin: `https://${domain}` }
  return send('/v1/chat/completions', reader, keys, BODY)
}

test('a site that makes a session to be its own reader is not paid for its own clicks', async () => {
  const path = await shownLink(await answeredInSession('20.7.7.1', '20.7.7.2'))
  await follow(path, { ...READER, 'x-forwarded-for': '20.7.7.3' })
  assert.deepEqual([await verdicts(), await paid()], [['same_network'], 0n])
})

test('a reader with a session is paid for where they have asked', async () => {
  const path = await shownLink(await answeredInSession('20.7.7.1', '21.7.7.2'))
  await follow(path, { ...READER, 'x-forwarded-for': '21.7.7.2' })
  assert.deepEqual([await verdicts(), await paid()], [['valid'], PRICE])
})

test('of what is followed again and again, only so much is stored', async () => {
  const path = await shownLink()
  for (let n = 0; n < 30; n++) await follow(path)
  assert.equal((await verdicts()).length, 20)
  assert.equal(await paid(), PRICE)
})

test('what checks a link again and again does not take the click of its reader away', async () => {
  const path = await shownLink()
  for (let n = 0; n < 25; n++) await follow(path, READER, 'HEAD')
  await follow(path)
  assert.deepEqual([(await verdicts()).length, await paid()], [21, PRICE])
})

test('what the playground or a test shows is no advertiser’s to pay', async () => {
  await setMonetization(world.store.db, project.id, { mode: 'test' })
  matcher.reply = { outcome: 'matched', match }
  await complete(world, BODY, { project })
  assert.equal(await paid(), 0n)
  await setMonetization(world.store.db, project.id)
})
