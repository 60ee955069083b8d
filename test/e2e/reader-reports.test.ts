/** Why a reader saw an advertisement, and what happens when readers report it: over real sockets, without any script. */
import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { tokenOf } from '../../src/rules/recommendations/link-token.ts'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { countStoppedOffers, listReportedOffers, listReports } from '../../src/store/recommendations/reader-reports.ts'
import { startGateway } from '../conformance/second-gateway.ts'
import { show } from '../support/clicks.ts'
import {
  addOffer,
  createFixedMatcher,
  OFFER_LINK,
  setMonetization,
  type FixedMatcher,
} from '../support/fixed-matcher.ts'
import { here } from '../support/operator.ts'
import { addProject, complete, createWorld, until, type TestProject, type World } from '../support/world.ts'

const ANSWER = 'For flights, look for over-ear headphones with active noise cancelling and a long battery life.'
const BODY = {
  model: 'sim-small',
  messages: [{ role: 'user', content: `Which headphones for flights? [[sim text=${encodeURIComponent(ANSWER)}]]` }],
}

const READER = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0',
  accept: 'text/html',
  'accept-language': 'en',
}

let world: World
let dataCentres: string
let matcher: FixedMatcher
let match: Match
let project: TestProject
let other: TestProject
/** No two reports come from one network, unless a test says so. */
let network = 0
before(async () => {
  matcher = await createFixedMatcher()
  dataCentres = await mkdtemp(join(tmpdir(), 'parley-networks-'))
  await writeFile(join(dataCentres, 'hosts.txt'), '22.0.0.0/8\n')
  const env = {
    PARLEY_MATCHER_URL: matcher.url,
    PARLEY_TRUSTED_PROXIES: '127.0.0.1',
    PARLEY_DATA_CENTRE_NETWORKS: dataCentres,
  }
  world = await createWorld({ env })
  ;[project, other] = await Promise.all([
    addProject(world.store, world.secrets),
    addProject(world.store, world.secrets),
  ])
  for (const { id } of [project, other]) await setMonetization(world.store.db, id)
})
after(async () => {
  await world.close()
  await matcher.close()
  await rm(dataCentres, { recursive: true })
})
beforeEach(async () => {
  match = await addOffer(world.store.db)
  matcher.reply = { outcome: 'matched', match }
})

/** Shows recommendations to readers of a project and returns the tokens in their links. */
async function shownTokens(count: number, { id } = project): Promise<string[]> {
  const ids = await show(world.store.db, match, id, count)
  const signing = { version: world.secrets.version, key: createSecretKey(world.secrets.keyFor('recommendations')) }
  return ids.map((each) => tokenOf(each, { projectId: id, words: match.headline }, signing))
}

interface Sent {
  from?: number
  body?: string
  headers?: Record<string, string>
}

async function report(token: string, { from = (network += 1), body = 'reason=', headers }: Sent = {}): Promise<string> {
  const response = await fetch(`${world.url}/w/${token}/report`, {
    method: 'POST',
    headers: {
      ...READER,
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': `20.${from >> 8}.${from & 255}.7`,
      ...headers,
    },
    body,
  })
  assert.equal(response.status, 200)
  return response.text()
}

async function isRecommendedTo(project: TestProject): Promise<boolean> {
  return (await (await complete(world, BODY, { project })).text()).includes('/r/')
}

/** Returns the reports of this offer in this project, undefined when there are none. */
async function reported({ id } = project) {
  const { db } = world.store
  const found = (await listReportedOffers(db, id, 50)).find(({ offerId }) => offerId === match.offerId)
  return found && { reports: found.reports, reason: found.reason, isStopped: found.isStopped }
}

async function decide(decision: 'approve' | 'reject'): Promise<void> {
  const { code, stderr } = await here(['offers', 'review', decision, match.offerId], { env: world.env })
  assert.equal(code, 0, stderr)
}

test('“Why this ad?” names who pays in full, what the offer was found under and how to report it, without any script', async () => {
  const { db } = world.store
  await db
    .updateTable('advertisers')
    .set({ legal_name: 'Northwind & Söhne <GmbH>' })
    .where('id', '=', match.advertiserId)
    .execute()
  const [token = ''] = await shownTokens(1)
  const response = await fetch(`${world.url}/w/${token}`)
  const page = await response.text()
  assert.match(page, /Northwind &#38; Söhne &#60;GmbH&#62;/)
  assert.match(page, /Electronics &#62; Audio &#62; Headphones/)
  assert.match(page, new RegExp(`<form method="post" action="${token}/report">`))
  assert.match(page, /<button>Report this ad<\/button>/)
  assert.doesNotMatch(page, /<script| on\w+=|https?:/)
  assert.equal(response.headers.get('set-cookie'), null)
  const policy = response.headers.get('content-security-policy') ?? ''
  assert.match(policy, /default-src 'none'/)
  assert.match(policy, /form-action 'self'/)
  await db.updateTable('offers').set({ category: '' }).where('id', '=', match.offerId).execute()
  await db.updateTable('advertisers').set({ legal_name: null }).where('id', '=', match.advertiserId).execute()
  const bare = await (await fetch(`${world.url}/w/${token}`)).text()
  assert.doesNotMatch(bare, /Found under|null|undefined/)
  assert.match(bare, new RegExp(`Paid for by</dt><dd>${match.advertiser}`))
})

test('three reports stop an offer in their project within seconds, and in no other, until a person approved it', async () => {
  const tokens = await shownTokens(3)
  assert.match(await report(tokens[0]!, { body: 'reason=scam' }), /Thank you/)
  await report(tokens[1]!, { body: 'reason=scam' })
  assert.deepEqual(await reported(), { reports: 2, reason: 'scam', isStopped: false })
  assert.ok(await isRecommendedTo(project))
  await report(tokens[2]!, { body: 'reason=%00&x=y' })
  assert.deepEqual(await reported(), { reports: 3, reason: 'scam', isStopped: true })
  assert.equal(await isRecommendedTo(project), false, 'also while a matcher still has it')
  assert.ok(await isRecommendedTo(other))
  await until(async () => {
    await complete(world, BODY, { project })
    return matcher.matches.at(-1)?.seenOffers.includes(match.offerId) ?? false
  })
  const { db } = world.store
  const printed = await here(['offers', 'reports'], { env: world.env })
  assert.match(printed.stdout, new RegExp(`${match.offerId}.*scam.*yes, in this project`))
  const listed = (await listReports(db, 50)).find(({ offer }) => offer === match.offerId)
  assert.deepEqual([listed?.reports, listed?.reasons, listed?.isStopped], [3, ['scam'], true])
  assert.equal(await countStoppedOffers(db), 1n)
  // Links shown before still lead there: the reader has chosen to follow them.
  const { headers } = await fetch(`${world.url}/r/${tokens[0]}`, { redirect: 'manual' })
  assert.equal(headers.get('location'), OFFER_LINK)

  await decide('approve')
  assert.equal(await reported(), undefined)
  assert.equal(await countStoppedOffers(db), 0n)
  assert.ok(await isRecommendedTo(project))
  for (const token of tokens) await report(token)
  assert.equal(await reported(), undefined, 'what was looked at does not count again')
})

test('an approved offer is stopped again by three more reports, and not by the first of them', async () => {
  for (const token of await shownTokens(3)) await report(token)
  await decide('approve')
  for (const isStopped of [false, false, true]) {
    const [token = ''] = await shownTokens(1)
    await report(token)
    assert.equal((await reported())?.isStopped, isStopped)
  }
})

test('an offer that a person rejected stays stopped where it was reported, whatever becomes of its words', async () => {
  for (const token of await shownTokens(3)) await report(token)
  await decide('reject')
  assert.equal(await isRecommendedTo(other), false)
  const offers = world.store.db.updateTable('offers').set({ review: 'approved', headline: 'Other words' })
  await offers.where('id', '=', match.offerId).execute()
  assert.ok(await isRecommendedTo(other))
  assert.equal(await isRecommendedTo(project), false)
  assert.deepEqual(await reported(), { reports: 0, reason: null, isStopped: true })
})

test('one reader, one network or one recommendation alone stops nothing, however often it is reported', async () => {
  const tokens = await shownTokens(5)
  for (const from of [901, 902, 903]) await report(tokens[0]!, { from })
  assert.deepEqual((await reported())?.reports, 1)
  for (const token of tokens) await report(token, { from: 901 })
  assert.deepEqual(await reported(), { reports: 1, reason: null, isStopped: false })
})

test('what no reader saw is not reported, and neither is what another site sends its visitors to', async () => {
  const tokens = await shownTokens(6)
  for (const [n, site] of ['cross-site', 'same-site', 'x'].entries())
    assert.match(
      await report(tokens[n]!, { headers: { 'sec-fetch-site': site } }),
      /<form method="post" action="report">/,
    )
  await world.store.db
    .updateTable('recommendations')
    .set({ state: 'test' })
    .where('offer_id', '=', match.offerId)
    .execute()
  for (const token of tokens.slice(3)) await report(token)
  assert.equal(await reported(), undefined)
})

test('what a rival’s scripts report is thanked for and stops nothing, wherever they run', async () => {
  const scripts: Record<string, string>[] = [
    { 'user-agent': 'curl/8.10.1' },
    { 'user-agent': '' },
    { 'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)' },
    { accept: '', 'accept-language': '' },
    { 'signature-agent': '"https://agent.example"' },
    { 'sec-fetch-dest': 'empty' },
    { 'x-forwarded-for': '22.1.2.3' },
    { 'x-forwarded-for': '22.2.2.3' },
    { 'x-forwarded-for': '22.3.2.3' },
  ]
  const tokens = await shownTokens(scripts.length)
  for (const [n, headers] of scripts.entries())
    assert.match(await report(tokens[n]!, { headers }), /Your report was counted/)
  assert.equal(await reported(), undefined)
  // And they take no reader's report away.
  await report(tokens[0]!)
  assert.equal((await reported())?.reports, 1)
})

test('reports that come all at once are all counted, and the third of them stops the offer', async () => {
  for (let n = 0; n < 5; n++) {
    match = await addOffer(world.store.db)
    await Promise.all((await shownTokens(3)).map((token) => report(token)))
    assert.deepEqual(await reported(), { reports: 3, reason: null, isStopped: true })
  }
})

test('a report is a short form to a link of ours; all else is refused and stores nothing', async () => {
  const [token = ''] = await shownTokens(1)
  const send = async (path: string, init: RequestInit) =>
    (await fetch(`${world.url}${path}`, { method: 'POST', ...init })).status
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  assert.equal(await send(`/w/${token.replace(/^./, 'B')}/report`, { headers: form, body: 'reason=' }), 404)
  assert.equal(await send(`/w/${token}/report`, { headers: form, body: `reason=${'x'.repeat(2_000)}` }), 400)
  assert.equal(await send(`/w/${token}/report`, { headers: { 'content-type': 'text/plain' }, body: 'x' }), 415)
  const json = { ...READER, 'content-type': 'application/json' }
  assert.equal(await send(`/w/${token}/report`, { headers: json, body: '{}' }), 415)
  assert.equal(await send(`/w/${token}`, { headers: form, body: 'reason=' }), 405)
  assert.equal(await send('/v1/sessions', { headers: { ...form, ...project.headers }, body: 'reason=' }), 415)
  assert.equal(await reported(), undefined)
})

test('who sends reports as fast as they can is told to wait', async () => {
  const { url } = await startGateway(world, { PARLEY_ADDRESS_REQUESTS_PER_SECOND: '1' })
  const [token = ''] = await shownTokens(1)
  const statuses = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const headers = { ...READER, 'x-forwarded-for': '21.0.0.7' }
      const response = await fetch(`${url}/w/${token}/report`, { method: 'POST', headers })
      await response.arrayBuffer()
      return response.status
    }),
  )
  assert.deepEqual(
    [...new Set(statuses)].toSorted((a, b) => a - b),
    [200, 429],
  )
  assert.equal((await reported())?.reports, 1)
})
