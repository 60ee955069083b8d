import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { setAdvertiserStatus } from '../../src/actions/offers/advertisers.ts'
import { click, fund, show } from '../support/clicks.ts'
import { createConsoleWorld, must, newPerson, userIdOf, type ConsoleWorld, type Person } from '../support/console.ts'
import { createDnsServer, type DnsServer } from '../support/dns-server.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { auditOf } from '../support/ledger.ts'
import { eventOf, signatureOf, startStripe, STRIPE_KEY, WEBHOOK_SECRET, type StripeStandIn } from '../support/stripe.ts'

const DOLLAR = 1_000_000_000n
let world: ConsoleWorld
let stripe: StripeStandIn
let dns: DnsServer
const texts = new Map<string, string[]>()

before(async () => {
  stripe = await startStripe()
  dns = await createDnsServer(({ name, type }) => {
    const records = type === 'TXT' ? texts.get(name) : undefined
    return records && { records }
  })
  world = await createConsoleWorld({
    env: {
      PARLEY_DNS_SERVERS: dns.address,
      PARLEY_STRIPE_SECRET_KEY: STRIPE_KEY,
      PARLEY_STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      PARLEY_STRIPE_API_BASE: stripe.url,
    },
  })
})
after(async () => {
  await world.close()
  await stripe.close()
  await dns.close()
})
afterEach(async () => assert.deepEqual(await auditOf(world.store), []))

let shops = 0

async function newShop(person: Person): Promise<string> {
  const body = { name: `Shop ${(shops += 1)}`, legalName: 'Shop Ltd', domain: `shop${shops}.example.com` }
  return String((await must(person.send('POST /api/me/advertisers', { body }))).body.id)
}

/** An offer of an active advertiser, as a match of it. */
async function offerOf(shop: string) {
  const { db } = world.store
  const match = await addOffer(db)
  const advertiser = { advertiser_id: shop }
  await db.updateTable('advertisers').set({ status: 'active' }).where('id', '=', shop).execute()
  await db.updateTable('campaigns').set(advertiser).where('id', '=', match.campaignId).execute()
  await db.updateTable('feeds').set(advertiser).where('campaign_id', '=', match.campaignId).execute()
  await db.updateTable('offers').set(advertiser).where('id', '=', match.offerId).execute()
  return { ...match, advertiserId: shop }
}

async function tellOf(event: string): Promise<string> {
  const headers = { 'content-type': 'application/json', 'stripe-signature': signatureOf(event) }
  const answer = await fetch(`${world.consoleUrl}/webhooks/stripe`, { method: 'POST', body: event, headers })
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { verdict: string }).verdict
}

async function walletOf(person: Person, shop: string) {
  return (await must(person.send(`GET /api/advertisers/${shop}/wallet`))).body
}

async function payment(person: Person, shop: string, name: string, dollars: bigint) {
  const { body } = await must(
    person.send(`POST /api/advertisers/${shop}/checkouts`, { body: { amountNanos: String(dollars * DOLLAR) } }),
  )
  const cents = Number(dollars) * 100
  const facts = { payment_intent: name, currency: 'usd' }
  const paid = { ...facts, id: body.id, payment_status: 'paid', amount_total: cents }
  return { id: String(body.id), cents, facts, paid }
}

test('whoever signs up as an advertiser is its admin and pending; a fourth one, a name that is taken and one that cannot be shown are refused', async () => {
  const person = await newPerson(world)
  const shop = await newShop(person)
  const { body } = await must(person.send(`GET /api/advertisers/${shop}`))
  assert.deepEqual([body.status, body.balanceNanos, body.campaigns], ['pending', '0', 0])
  const { body: me } = await must(person.send('GET /api/me'))
  assert.deepEqual(
    me.advertisers.map(({ id, role }: { id: string; role: string }) => [id, role]),
    [[shop, 'admin']],
  )
  const sign = (name: string) =>
    person.send('POST /api/me/advertisers', { body: { name, legalName: 'X', domain: 'x.example.com' } })
  assert.deepEqual([(await sign(body.name)).status, (await sign('Visit shop.example.com')).status], [422, 422])
  await newShop(person)
  await newShop(person)
  assert.equal((await sign('One too many')).status, 409)
})

test('somebody whose address is not confirmed signs no advertiser up', async () => {
  const person = await newPerson(world, { confirms: false })
  const body = { name: 'Unproven', legalName: 'X', domain: 'x.example.com' }
  assert.equal((await person.send('POST /api/me/advertisers', { body })).status, 409)
})

test('the last admin stays, and who is removed has no access from then on', async () => {
  const [admin, other] = [await newPerson(world), await newPerson(world)]
  const shop = await newShop(admin)
  const [adminId, otherId] = [await userIdOf(admin), await userIdOf(other)]
  await world.store.db
    .insertInto('advertiser_members')
    .values({ advertiser_id: shop, user_id: otherId, role: 'editor' })
    .execute()
  const member = (id: string) => `/api/advertisers/${shop}/members/${id}`
  assert.equal((await admin.send(`POST /api/advertisers/${shop}/leave`)).status, 409)
  assert.equal((await admin.send(`PATCH ${member(adminId)}`, { body: { role: 'viewer' } })).status, 409)
  assert.equal((await other.send(`DELETE ${member(adminId)}`)).status, 403)
  await must(admin.send(`PATCH ${member(otherId)}`, { body: { role: 'admin' } }))
  await must(other.send(`DELETE ${member(adminId)}`))
  assert.equal((await admin.send(`GET /api/advertisers/${shop}`)).status, 404)
  const { rows } = await sql<{ action: string }>`
    select action from audit_log where publisher_id = ${shop} order by seq`.execute(world.store.db)
  assert.deepEqual(
    rows.map(({ action }) => action),
    ['advertiser.signed_up', 'advertiser.member_role_changed', 'advertiser.member_removed'],
  )
})

test('who deletes their account is no member any more, and what is in the log of the advertiser says so', async () => {
  const person = await newPerson(world)
  const shop = await newShop(person)
  await must(person.send('POST /api/me/delete', { body: { confirm: person.email } }))
  const { rows } = await sql<{ action: string; members: number }>`
    select l.action, (select count(*)::int from advertiser_members m where m.advertiser_id = ${shop}) as members
    from audit_log l where l.publisher_id = ${shop} order by l.seq desc limit 1`.execute(world.store.db)
  assert.deepEqual(rows, [{ action: 'advertiser.member_left', members: 0 }])
})

test('a payment is credited once, however often it is told of, and a wrong amount never', async () => {
  const person = await newPerson(world)
  const shop = await newShop(person)
  const { id, facts, paid } = await payment(person, shop, 'pi_ad_once', 25n)
  const wrong = eventOf('checkout.session.completed', { ...paid, amount_total: 2_400 })
  assert.equal(await tellOf(wrong), 'wrong_amount')
  assert.equal((await walletOf(person, shop)).balanceNanos, '0')
  const event = eventOf('checkout.session.completed', paid)
  const verdicts = await Promise.all([tellOf(event), tellOf(event), tellOf(event)])
  assert.deepEqual(verdicts.toSorted(), ['credited', 'unchanged', 'unchanged'])
  assert.equal(
    await tellOf(eventOf('checkout.session.completed', { ...paid, payment_intent: 'pi_other' })),
    'wrong_payment',
  )
  const wallet = await walletOf(person, shop)
  assert.equal(wallet.balanceNanos, String(25n * DOLLAR))
  assert.deepEqual(
    wallet.movements.map(({ title, deltaNanos }: { title: string; deltaNanos: string }) => [title, deltaNanos]),
    [['Top-up', String(25n * DOLLAR)]],
  )
  const checkout = await must(person.send(`GET /api/advertisers/${shop}/checkouts/${id}`))
  assert.equal(checkout.body.state, 'paid')
  assert.equal(facts.currency, 'usd')
})

test('a refund is taken back once, never below zero, and a dispute that ended well gives it again', async () => {
  const person = await newPerson(world)
  const shop = await newShop(person)
  const { facts, paid } = await payment(person, shop, 'pi_ad_back', 25n)
  await tellOf(eventOf('checkout.session.completed', paid))
  const refunded = eventOf('charge.refunded', { ...facts, id: 'ch_ad', amount: 2_500, amount_refunded: 1_000 })
  assert.equal(await tellOf(refunded), 'taken_back')
  assert.equal(await tellOf(refunded), 'unchanged')
  assert.equal((await walletOf(person, shop)).balanceNanos, String(15n * DOLLAR))
  // Ten of the fifteen are spent meanwhile: the dispute of the rest finds five.
  const { db } = world.store
  const match = { ...(await offerOf(shop)), priceNanos: String(10n * DOLLAR) }
  const [shown = ''] = await show(db, match, world.project.id)
  assert.equal(await click(db, shown), 'valid')
  const dispute = { ...facts, id: 'dp_ad', amount: 1_500, status: 'needs_response' }
  assert.equal(await tellOf(eventOf('charge.dispute.created', dispute)), 'absorbed')
  assert.equal((await walletOf(person, shop)).balanceNanos, '0')
  const won = eventOf('charge.dispute.closed', { ...dispute, status: 'won' }, Date.now() / 1000 + 5)
  assert.equal(await tellOf(won), 'given_back')
  assert.equal((await walletOf(person, shop)).balanceNanos, String(5n * DOLLAR))
})

test('a refund that is told of before the payment is taken back when that arrives', async () => {
  const person = await newPerson(world)
  const shop = await newShop(person)
  const { facts, paid } = await payment(person, shop, 'pi_ad_early', 25n)
  const refunded = { ...facts, id: 'ch_ad_early', amount: 2_500, amount_refunded: 2_500 }
  assert.equal(await tellOf(eventOf('charge.refunded', refunded)), 'remembered')
  await tellOf(eventOf('checkout.session.completed', paid))
  const wallet = await walletOf(person, shop)
  assert.deepEqual([wallet.balanceNanos, wallet.movements.length], ['0', 2])
})

test('a campaign is held to what the command line holds it to, and says what limits it', async () => {
  const person = await newPerson(world)
  const shop = await newShop(person)
  const campaigns = `/api/advertisers/${shop}/campaigns`
  const make = (body: object) =>
    person.send(`POST ${campaigns}`, { body: { name: 'Lamps', bidNanos: '400000000', ...body } })
  for (const wrong of [
    { bidNanos: '0' },
    { bidNanos: String(1_001n * DOLLAR) },
    { dailyBudgetNanos: '0' },
    { hints: ['x'.repeat(201)] },
    { hints: Array.from({ length: 21 }, (_, n) => `for people of kind ${n}`) },
    { startsAt: '2026-12-02T00:00:00Z', endsAt: '2026-12-01T00:00:00Z' },
  ])
    assert.equal((await make(wrong)).status, 422, JSON.stringify(wrong))
  const { body: made } = await must(
    make({ hints: ['for people who read at night'], dailyBudgetNanos: String(20n * DOLLAR) }),
  )
  assert.equal((await make({})).status, 422, 'the name is taken')
  assert.deepEqual([made.standing, made.limitedBy, made.pacing], ['limited', 'credit', 'even'])
  await fund(world.store.db, shop, 50n * DOLLAR)
  const change = async (body: object) => (await must(person.send(`PATCH ${campaigns}/${made.id}`, { body }))).body
  assert.equal((await change({ pacing: 'asap' })).standing, 'running')
  const tight = await change({ dailyBudgetNanos: '300000000' })
  assert.deepEqual([tight.standing, tight.limitedBy], ['limited', 'daily_budget'])
  const free = await change({ dailyBudgetNanos: null, totalBudgetNanos: '300000000' })
  assert.deepEqual([free.limitedBy, free.dailyBudgetNanos], ['total_budget', null])
  await must(person.send(`PUT ${campaigns}/${made.id}/status`, { body: { status: 'paused' } }))
  const { body: list } = await must(person.send(`GET ${campaigns}`))
  assert.deepEqual([list.items.length, list.items[0].standing], [1, 'paused'])
  assert.equal((await change({ endsAt: '2020-01-01T00:00:00Z', startsAt: null })).standing, 'ended')
})

test('what a click has cost is in the spend of its day, and who sees it learns no project and no call', async () => {
  const person = await newPerson(world)
  const shop = await newShop(person)
  const { db } = world.store
  await fund(db, shop, 50n * DOLLAR)
  const match = await offerOf(shop)
  const [shown = ''] = await show(db, match, world.project.id)
  assert.equal(await click(db, shown), 'valid')
  const overview = await must(person.send(`GET /api/advertisers/${shop}`))
  assert.equal(overview.body.spentTodayNanos, match.priceNanos)
  assert.deepEqual([overview.body.days.length, overview.body.days.at(-1).clicks], [30, 1])
  const wallet = await must(person.send(`GET /api/advertisers/${shop}/wallet`))
  assert.equal(BigInt(wallet.body.balanceNanos), 50n * DOLLAR - BigInt(match.priceNanos))
  const { call_id: callId } = await db
    .selectFrom('recommendations')
    .select('call_id')
    .where('id', '=', shown)
    .executeTakeFirstOrThrow()
  for (const { text } of [overview, wallet, await must(person.send(`GET /api/advertisers/${shop}/campaigns`))])
    assert.ok(!text.includes(world.project.id) && !text.includes(callId) && !text.includes(shown))
})

test('an advertiser is activated once its domain is verified by its record, and before only by an operator who vouches for it', async () => {
  const person = await newPerson(world)
  const [proven, vouched] = [await newShop(person), await newShop(person)]
  const operator = { kind: 'operator' as const, id: 'root', reason: undefined }
  const activate = (id: string, isVouched = false) =>
    world.store.db.transaction().execute(async (tx) => {
      await setAdvertiserStatus(tx, operator, { advertiser: { id, name: 'Shop' }, status: 'active', isVouched })
    })
  await assert.rejects(activate(proven), /is not verified yet/)
  const path = `/api/advertisers/${proven}/domain`
  const missing = (await must(person.send(`POST ${path}/check`))).body
  assert.deepEqual([missing.verifiedAt, typeof missing.seen.record], [null, 'string'])
  texts.set(missing.record.name, [missing.record.value])
  const found = (await must(person.send(`POST ${path}/check`))).body
  assert.deepEqual([found.provenBy, typeof found.verifiedAt], ['dns', 'string'])
  await activate(proven)
  assert.equal((await must(person.send(`GET /api/advertisers/${proven}`))).body.status, 'active')
  await activate(vouched, true)
  assert.equal((await must(person.send(`GET /api/advertisers/${vouched}/domain`))).body.provenBy, 'operator')
  const { rows } = await sql<{ action: string }>`
    select action from audit_log where publisher_id = ${proven} order by seq desc limit 1`.execute(world.store.db)
  assert.deepEqual(rows, [{ action: 'advertiser.domain_verified' }])
})
