import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { EARNINGS_PENDING_DAYS } from '../../src/rules/clicks/earnings.ts'
import { CLICK_AFTER_MS_MIN } from '../../src/rules/clicks/verdict.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../src/rules/durations.ts'
import { SERVES_MIN } from '../../src/rules/recommendations/advertiser-report.ts'
import { adjustWallet, findWallet } from '../../src/store/billing/wallets.ts'
import { addUpAdvertiserDays } from '../../src/store/offers/advertiser-days.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { releaseEarnings } from '../../src/store/recommendations/clicks.ts'
import { createAuthority } from '../support/certificates.ts'
import { start, type Started } from '../support/commands.ts'
import { newPerson } from '../support/console.ts'
import { later } from '../support/database-clock.ts'
import { createDnsServer, type DnsServer } from '../support/dns-server.ts'
import { jsonLines } from '../support/feeds.ts'
import { setMonetization } from '../support/fixed-matcher.ts'
import { freePort } from '../support/free-port.ts'
import { asked, told } from '../support/operator.ts'
import { eventOf, signatureOf, startStripe, STRIPE_KEY, WEBHOOK_SECRET, type StripeStandIn } from '../support/stripe.ts'
import { addKeyPair, addModel, complete, credit, until } from '../support/world.ts'
import { createBrowserWorld, faultsOf, type BrowserWorld } from './support/browser-world.ts'

/**
 * The whole way of the money: an advertiser comes, pays, has its products recommended in a publisher's reply, a reader clicks,
 * and a week later the publisher pays for tokens with what that has earned.
 */

const DOMAIN = 'northwind.example'
const HINT = 'for people who look for noise-cancelling headphones for long flights'
const ASKED = 'Which noise-cancelling headphones are good for long flights?'
const ANSWER =
  'For long flights, over-ear headphones with active noise cancelling are the most comfortable choice. Look for a long battery life and a case that folds flat.'
const OFFER = {
  id: 'hush',
  title: 'Hush noise-cancelling headphones',
  description: 'Over-ear headphones with active noise cancelling for flights and loud offices.',
  link: `https://${DOMAIN}/hush`,
  image_link: `https://${DOMAIN}/hush.jpg`,
  price: '189.00 EUR',
  availability: 'in_stock',
  product_type: 'Electronics > Audio > Headphones',
  short_title: 'Guaranteed hush: noise-cancelling headphones',
}
const READER = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36',
  'x-forwarded-for': '203.0.113.7',
}

let world: BrowserWorld
let shop: Server
let dns: DnsServer
let stripe: StripeStandIn
let matcher: Started
let directory: string
const texts = new Map<string, string[]>()

before(async () => {
  const authority = createAuthority()
  shop = createServer(authority.issue(DOMAIN), (request, response) => {
    const isFeed = request.url === '/feed.jsonl'
    const type = isFeed ? 'application/jsonl' : 'text/html; charset=utf-8'
    const body = isFeed ? jsonLines([OFFER]) : '<!doctype html><title>Hush</title><h1>Hush headphones</h1>'
    response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body)
  })
  await once(shop.listen(0, '127.0.0.1'), 'listening')
  const place = `127.0.0.1:${(shop.address() as AddressInfo).port}`
  dns = await createDnsServer(({ name, type }) => {
    const records = type === 'TXT' ? texts.get(name) : type === 'A' && name === DOMAIN ? ['127.0.0.1'] : undefined
    return records && { records }
  })
  stripe = await startStripe()
  const [port, matcherPort] = [String(await freePort()), String(await freePort())]
  world = await createBrowserWorld({
    env: {
      PARLEY_DNS_SERVERS: dns.address,
      PARLEY_PORT: port,
      PARLEY_PUBLIC_URL: `http://127.0.0.1:${port}`,
      PARLEY_MATCHER_PORT: matcherPort,
      PARLEY_MATCHER_URL: `http://127.0.0.1:${matcherPort}`,
      PARLEY_STRIPE_SECRET_KEY: STRIPE_KEY,
      PARLEY_STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      PARLEY_STRIPE_API_BASE: stripe.url,
    },
    hosts: { [DOMAIN]: place },
    publicConnections: { isAllowed: (address) => address === '127.0.0.1', ca: authority.cert },
  })
  const { DATABASE_URL, PARLEY_SECRET } = world.env
  Object.assign(process.env, { DATABASE_URL, PARLEY_SECRET })
  await addModel(world.store, {
    id: 'guide',
    provider: 'simulator',
    upstreamModel: `sim?gap=5&text=${encodeURIComponent(ANSWER)}`,
  })
  directory = await mkdtemp(join(tmpdir(), 'parley-matcher-'))
  const env = { ...world.env, PARLEY_MATCHER_DIR: directory, PARLEY_OPS_PORT: '0' }
  matcher = start('node', ['src/main.ts', 'serve', 'matcher'], { env })
})
after(async () => {
  await matcher.end('SIGKILL', 0)
  await world.close()
  await stripe.close()
  await dns.close()
  shop.closeAllConnections()
  shop.close()
  await rm(directory, { recursive: true, force: true })
})

test('an advertiser pays for a reader’s click, and a week later the publisher pays for tokens with it', async (t) => {
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const startedMs = performance.now()
    const result = await work()
    t.diagnostic(`${name}: ${((performance.now() - startedMs) / SECOND_MS).toFixed(1)} s`)
    return result
  }
  const { page, context } = await world.visitAs(await newPerson(world))
  await step('sign up as an advertiser', () => signUp(page))
  await step('verify the domain', () => verifyDomain(page))
  await step('top up', () => topUp(page))
  await step('create a campaign with a hint', () => createCampaign(page))
  await step('add a feed by address', () => addFeed(page))
  await step('the operator approves', () => approve(page))
  const site = await step('a publisher turns recommendations on', () => openSite())
  const link = await step('a reply carries the recommendation', () => recommended(site))
  await step('it is told of when it was shown to ten', async () => {
    await Promise.all(Array.from({ length: SERVES_MIN }, () => say(site).then((response) => response.text())))
  })
  await step('a reader clicks', () => click(link))
  await step('its earning is pending', () => expectEarning(site.page, 'Pending'))
  const spent = await step('seven days later it is available', () => release(site))
  await step('it pays for a call', () => spend(site, spent))
  await step('the report names the hint', () => expectReported(page))
  assert.deepEqual(await faultsOf(page), [])
  assert.deepEqual(await faultsOf(site.page), [])
  await context.close()
})

function heading(page: Page, name: string) {
  return page.getByRole('heading', { level: 1, name })
}

/** By the navigation, as a person goes. */
async function goTo(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click()
  await heading(page, name).waitFor()
}

async function signUp(page: Page): Promise<void> {
  await page.goto('/advertise')
  await page.getByRole('textbox', { name: 'Shown name' }).fill('Northwind')
  await page.getByRole('textbox', { name: 'Legal name' }).fill('Northwind Ltd')
  await page.getByRole('textbox', { name: 'Domain' }).fill(DOMAIN)
  await page.getByRole('button', { name: 'Sign up as an advertiser' }).click()
  await heading(page, 'Overview').waitFor()
}

async function verifyDomain(page: Page): Promise<void> {
  await goTo(page, 'Settings')
  const read = (label: string) => page.getByLabel(label, { exact: true }).textContent()
  texts.set(String(await read('record name')), [String(await read('record value'))])
  await page.getByRole('button', { name: 'Check now' }).click()
  await page.getByText('Verified', { exact: true }).waitFor()
}

async function topUp(page: Page): Promise<void> {
  await goTo(page, 'Wallet')
  await page.getByRole('button', { name: 'Top up' }).click()
  await page.getByRole('button', { name: '$50', exact: true }).click()
  await Promise.all([page.waitForURL(`${stripe.url}/pay/**`), page.getByRole('button', { name: 'Pay $50.00' }).click()])
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  const order = stripe.checkouts.at(-1)
  await page.goto(String(order?.success_url).replace('{CHECKOUT_SESSION_ID}', id))
  const facts = { payment_status: 'paid', payment_intent: `pi_${id}`, amount_total: 5_000, currency: 'usd' }
  const paid = eventOf('checkout.session.completed', { id, ...facts })
  const headers = { 'content-type': 'application/json', 'stripe-signature': signatureOf(paid) }
  await fetch(`${world.consoleUrl}/webhooks/stripe`, { method: 'POST', body: paid, headers })
  await page.getByText('$50.00 has arrived.').waitFor()
}

async function createCampaign(page: Page): Promise<void> {
  await goTo(page, 'Campaigns')
  await page.getByRole('button', { name: 'New campaign' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'New campaign' })
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Headphones')
  await dialog.getByRole('textbox', { name: 'Who it is for' }).fill(HINT)
  await dialog.getByRole('button', { name: 'Create campaign' }).click()
  await page.getByText('0 offers, 1 hint').waitFor()
}

/** The first address is a mistake, which is said before anything is added. */
async function addFeed(page: Page): Promise<void> {
  await goTo(page, 'Feeds')
  await page.getByRole('button', { name: 'Add by address' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Add a feed by address' })
  await dialog.getByRole('textbox', { name: 'Name' }).fill('All products')
  const address = dialog.getByRole('textbox', { name: 'Address' })
  const { port } = shop.address() as AddressInfo
  await address.fill(`https://${DOMAIN}:${port}/hush`)
  await dialog.getByRole('button', { name: 'Add feed' }).click()
  await dialog.getByRole('alert').first().waitFor()
  await address.fill(`https://${DOMAIN}:${port}/feed.jsonl`)
  await dialog.getByRole('button', { name: 'Add feed' }).click()
  await dialog.waitFor({ state: 'hidden' })
  await page.getByText('Up to date').waitFor({ timeout: 45_000 })
  await goTo(page, 'Offers')
  await page.getByText('Awaiting review').last().waitFor()
}

async function approve(page: Page): Promise<void> {
  await told('advertiser', 'activate', 'Northwind')
  const waiting = (await asked('offers', 'list', '--review', 'pending')) as { review_id: string }[]
  assert.equal(waiting.length, 1)
  await told('offers', 'review', 'approve', String(waiting[0]?.review_id))
  await page.reload()
  await page.getByRole('row').filter({ hasText: 'hush' }).getByText('Approved', { exact: true }).waitFor()
  await until(async () => {
    assert.doesNotMatch(matcher.output, /switched off/)
    const rows = await world.store.db.selectFrom('matchers').select(['state', 'offers']).execute()
    return rows.some(({ state, offers }) => state === 'ready' && offers === 1n)
  }, 60_000)
}

type Site = Awaited<ReturnType<typeof openSite>>

async function openSite() {
  const { store, secrets } = world
  const { person, project, page } = await world.signedUp()
  const keys = await addKeyPair(store, secrets, project.id)
  await setDomainVerified(store.db, project.id, new Date())
  await credit(store, project.id, 1_000_000_000n)
  await setMonetization(store.db, project.id, { min_turn_gap: 1, floor_nanos: 100_000_000n })
  return { page, ...keys, id: project.id, publisherId: person.publisherId }
}

function say(site: Site): Promise<Response> {
  const body = { model: 'guide', max_tokens: 200, messages: [{ role: 'user', content: ASKED }] }
  return complete(world, body, { project: site, headers: { 'x-conversation-id': uuidv7() } })
}

/** The matcher reads what was approved within seconds. */
async function recommended(site: Site): Promise<string> {
  let text = ''
  await until(async () => {
    const response = await say(site)
    text = await response.text()
    assert.equal(response.status, 200, text)
    return text.includes('Northwind')
  }, 30_000).catch(async () => {
    const outcomes = await world.store.db.selectFrom('recommendation_outcomes').selectAll().execute()
    assert.fail(`no recommendation: ${outcomes.map(({ outcome, calls }) => `${outcome} ${calls}`).join(', ')}`)
  })
  return /http:\/\/127\.0\.0\.1:\d+\/r\/[\w-]+/.exec(text)?.[0] ?? assert.fail(`no link: ${text}`)
}

/** On a page of somebody who reads the reply, a moment after it came. */
async function click(link: string): Promise<void> {
  await sleep(CLICK_AFTER_MS_MIN + 200)
  const { page, context } = await world.visit()
  await page.setExtraHTTPHeaders(READER)
  await page.setContent(`<p>${ANSWER}</p><a href="${link}">See offer</a>`)
  await page.getByRole('link', { name: 'See offer' }).click()
  await page.getByRole('heading', { name: 'Hush headphones' }).waitFor()
  assert.equal(page.url(), OFFER.link)
  await context.close()
  const verdict = async () => (await world.store.db.selectFrom('clicks').select('verdict').executeTakeFirst())?.verdict
  await until(async () => (await verdict()) !== undefined)
  assert.equal(await verdict(), 'valid')
}

/** Checks that the publisher reads their share of the click under this label. */
async function expectEarning(page: Page, label: 'Pending' | 'Released'): Promise<void> {
  const site = await world.store.db.selectFrom('clicks').select(['project_id', 'share_nanos']).executeTakeFirstOrThrow()
  assert.ok(site.share_nanos > 0n)
  await page.goto(`/projects/${site.project_id}/earnings`)
  const figure = page.getByRole('link', { name: new RegExp(`^${label}: `) })
  await figure.waitFor()
  const shown = await figure.locator('data').getAttribute('value')
  assert.equal(shown, String(site.share_nanos))
}

/** Takes all other credit from the publisher, then releases the earnings. Returns the credit that they have to spend. */
async function release(site: Site): Promise<bigint> {
  const { db } = world.store
  const { balance_nanos: balance } = await walletOf(site)
  const all = { id: uuidv7(), projectId: site.id, amount: -balance, reference: 'test: gone', reason: 'gone' }
  await adjustWallet(db, all)
  const refused = await say(site)
  assert.deepEqual([refused.status, /credit/.test(await refused.text())], [403, true])
  assert.equal(await releaseEarnings(db, 100), 0)
  const weekMs = EARNINGS_PENDING_DAYS * DAY_MS + MINUTE_MS
  const released = await later(db, weekMs, ['earnings_release(int, interval)'], (tx) => releaseEarnings(tx, 100))
  assert.equal(released, 1)
  await expectEarning(site.page, 'Released')
  const { share_nanos: share } = await db.selectFrom('clicks').select('share_nanos').executeTakeFirstOrThrow()
  assert.equal((await walletOf(site)).balance_nanos, share)
  return share
}

async function walletOf({ id }: Site) {
  return (await findWallet(world.store.db, id)) ?? assert.fail('no wallet')
}

async function spend(site: Site, earned: bigint): Promise<void> {
  // The gateway, too, learns within seconds that the wallet is no longer empty.
  await until(async () => (await say(site)).status === 200, 10_000)
  await until(async () => (await walletOf(site)).balance_nanos < earned)
  await site.page.goto(`/projects/${site.id}/wallet`)
  const earnings = site.page.getByRole('row').filter({ hasText: 'Earnings' })
  assert.equal(await earnings.locator('data').first().getAttribute('value'), String(earned))
  await site.page.getByRole('row').filter({ hasText: 'Usage' }).first().waitFor()
}

/** Until the advertiser's own page of reports is there, the operator's command tells it. */
async function expectReported(page: Page): Promise<void> {
  const boundary = new Date(Date.now() + SECOND_MS)
  while (((await addUpAdvertiserDays(world.store.db, boundary, DAY_MS)) ?? boundary) < boundary);
  await goTo(page, 'Reports')
  await page.getByRole('combobox', { name: 'Rows' }).selectOption('By hint')
  const cells = page.getByRole('row', { name: HINT }).getByRole('cell')
  await cells.nth(1).waitFor()
  // The cells: the hint, how often it was recommended, and its paid clicks.
  assert.equal(await cells.nth(2).innerText(), '1')
}
