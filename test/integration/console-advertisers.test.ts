import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { setAdvertiserStatus } from '../../src/actions/offers/advertisers.ts'
import { click, fund, show } from '../support/clicks.ts'
import { createConsoleWorld, must, newPerson, userIdOf, type ConsoleWorld, type Person } from '../support/console.ts'
import { createDnsServer, type DnsServer } from '../support/dns-server.ts'
import { addChances } from '../../src/store/offers/campaign-chances.ts'
import { addUpAdvertiserDays } from '../../src/store/offers/advertiser-days.ts'
import { addOffer, createFixedMatcher, type FixedMatcher } from '../support/fixed-matcher.ts'
import { auditOf } from '../support/ledger.ts'
import { eventOf, signatureOf, startStripe, STRIPE_KEY, WEBHOOK_SECRET, type StripeStandIn } from '../support/stripe.ts'

const DOLLAR = 1_000_000_000n
let world: ConsoleWorld
let stripe: StripeStandIn
let dns: DnsServer
let matcher: FixedMatcher
const texts = new Map<string, string[]>()

before(async () => {
  stripe = await startStripe()
  dns = await createDnsServer(({ name, type }) => {
    const records = type === 'TXT' ? texts.get(name) : undefined
    return records && { records }
  })
  matcher = await createFixedMatcher()
  world = await createConsoleWorld({
    env: {
      PARLEY_MATCHER_URL: matcher.url,
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
  await matcher.close()
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
  const campaign = { ...advertiser, name: `Campaign ${match.campaignId}` }
  await db.updateTable('campaigns').set(campaign).where('id', '=', match.campaignId).execute()
  const feed = { ...advertiser, name: `Feed ${match.campaignId}` }
  await db.updateTable('feeds').set(feed).where('campaign_id', '=', match.campaignId).execute()
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
  for (const name of [body.name, body.name.toUpperCase(), 'Visit shop.example.com'])
    assert.equal((await sign(name)).status, 422, name)
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

test('who signs names up and goes keeps them from nobody; what was activated, has paid or is about to pay stays', async () => {
  const { db } = world.store
  const sign = async (person: Person, name: string) => {
    const body = { name, legalName: 'X', domain: 'x.example.com' }
    return person.send('POST /api/me/advertisers', { body })
  }
  const squatter = await newPerson(world)
  const left = String((await must(sign(squatter, 'Acme Audio'))).body.id)
  await must(
    squatter.send(`POST /api/advertisers/${left}/campaigns`, { body: { name: 'Lamps', bidNanos: '10000000' } }),
  )
  const shared = String((await must(sign(squatter, 'Two of us'))).body.id)
  const honest = await newPerson(world)
  assert.equal((await sign(honest, 'ACME audio')).status, 422)
  await db
    .insertInto('advertiser_members')
    .values({ advertiser_id: shared, user_id: await userIdOf(honest), role: 'admin' })
    .execute()
  await must(squatter.send('POST /api/me/delete', { body: { confirm: squatter.email } }))
  await must(sign(honest, 'Acme Audio'))
  await must(honest.send(`GET /api/advertisers/${shared}`))

  const gone = await newPerson(world)
  const [active, funded, paying] = [await newShop(gone), await newShop(gone), await newShop(gone)]
  await db.updateTable('advertisers').set({ status: 'active' }).where('id', '=', active).execute()
  await fund(db, funded, DOLLAR)
  await payment(gone, paying, 'pi_ad_going', 25n)
  await must(gone.send('POST /api/me/delete', { body: { confirm: gone.email } }))
  const kept = await db
    .selectFrom('advertisers')
    .select('id')
    .where('id', 'in', [left, active, funded, paying])
    .execute()
  assert.deepEqual(kept.map(({ id }) => id).toSorted(), [active, funded, paying].toSorted())
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

test('what was refunded during a dispute does not come back to an advertiser with it', async () => {
  const cases = [
    ['an inquiry, all of it refunded', 'warning_needs_response', 'warning_closed', 2_500],
    ['a dispute, all of it refunded', 'needs_response', 'won', 2_500],
    ['a dispute, $10 refunded', 'needs_response', 'won', 1_000],
  ] as const
  for (const [n, [what, opened, closed, cents]] of cases.entries()) {
    const person = await newPerson(world)
    const shop = await newShop(person)
    const { id, facts, paid } = await payment(person, shop, `pi_ad_both_${n}`, 25n)
    await tellOf(eventOf('checkout.session.completed', paid))
    const dispute = { ...facts, id: `dp_both_${n}`, amount: 2_500 }
    assert.equal(await tellOf(eventOf('charge.dispute.created', { ...dispute, status: opened })), 'taken_back')
    const back = { ...facts, id: `ch_both_${n}`, amount: 2_500, amount_refunded: cents }
    assert.equal(await tellOf(eventOf('charge.refunded', back)), 'absorbed')
    await tellOf(eventOf('charge.dispute.closed', { ...dispute, status: closed }, Date.now() / 1000 + 5))
    const left = 25n * DOLLAR - BigInt(cents) * (DOLLAR / 100n)
    assert.equal((await walletOf(person, shop)).balanceNanos, String(left), what)
    const { body } = await must(person.send(`GET /api/advertisers/${shop}/checkouts/${id}`))
    assert.equal(body.state, left === 0n ? 'refunded' : 'paid', what)
    // The operator's loss from it is made good.
    const { rows } = await sql<{ lost: bigint }>`
      select coalesce(sum(case when t.kind = 'absorbed' then t.amount_nanos else -t.amount_nanos end), 0)::int8 as lost
      from transfers a join transfers t on t.id = a.id or t.corrects = a.id
      where starts_with(a.reference, ${`absorbed:stripe:ch_both_${n}`})`.execute(world.store.db)
    assert.equal(rows[0]?.lost, 0n, what)
  }
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

test('an advertiser has a hundred campaigns at most, also when it asks for the last one many times at once', async () => {
  const person = await newPerson(world)
  const shop = await newShop(person)
  const campaigns = `/api/advertisers/${shop}/campaigns`
  const make = (name: string) => person.send(`POST ${campaigns}`, { body: { name, bidNanos: '400000000' } })
  const twice = await Promise.all(Array.from({ length: 8 }, () => make('Lamps')))
  assert.deepEqual(
    twice.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, ...Array<number>(7).fill(422)],
    'of one name there is one',
  )
  await sql`insert into campaigns (id, advertiser_id, name, bid_nanos)
    select gen_random_uuid(), ${shop}, 'Campaign ' || n, 1 from generate_series(1, 98) n`.execute(world.store.db)
  const last = await Promise.all(Array.from({ length: 8 }, (_, n) => make(`Last ${n}`)))
  assert.deepEqual(
    last.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, ...Array<number>(7).fill(409)],
  )
  assert.equal((await must(person.send(`GET ${campaigns}`))).body.items.length, 100)
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

/** Everything that was written by now is in the reports. */
async function addUp(): Promise<void> {
  const now = new Date()
  while (((await addUpAdvertiserDays(world.store.db, now, 86_400_000)) ?? now) < now);
}

test('a report tells an advertiser of its own recommendations alone, and of fewer than ten only what they cost', async () => {
  const [person, other] = [await newPerson(world), await newPerson(world)]
  const [shop, theirs] = [await newShop(person), await newShop(other)]
  const { db } = world.store
  await fund(db, shop, 50n * DOLLAR)
  const [many, few] = [await offerOf(shop), await offerOf(shop)]
  const hint = 'for people who fly a lot'
  const shown = await show(db, { ...many, hint }, world.project.id, 12)
  const [rare = ''] = await show(db, few, world.project.id, 3)
  for (const id of [shown[0], shown[1], rare]) assert.equal(await click(db, id ?? ''), 'valid')
  await click(db, shown[2] ?? '', { verdict: 'bot' })
  await addUp()
  const report = (who: Person, query: string) => must(who.send(`GET /api/advertisers/${shop}/report?${query}`))
  const price = BigInt(many.priceNanos)
  const { body, text } = await report(person, 'by=campaign')
  assert.deepEqual(
    body.rows.map(({ key, serves, validClicks, otherClicks, spentNanos }: Record<string, unknown>) => [
      key,
      serves,
      validClicks,
      otherClicks,
      spentNanos,
    ]),
    [
      [many.campaignId, '12', '2', [{ verdict: 'bot', label: 'Bot', clicks: '1' }], String(2n * price)],
      [null, null, null, null, String(price)],
    ],
  )
  assert.deepEqual([body.total.serves, body.total.spentNanos], ['12', String(3n * price)])
  assert.ok(body.countedUntil !== null)
  for (const secret of [world.project.id, shown[0] ?? '', few.campaignId]) assert.ok(!text.includes(secret))
  assert.equal((await report(person, 'by=hint')).body.rows[0].name, hint)
  assert.equal((await report(person, 'by=offer')).body.rows[0].name, many.headline)
  assert.deepEqual((await report(person, 'by=day&from=2020-01-01&to=2020-01-31')).body.rows, [])
  const ofFew = await report(person, `by=campaign&campaign=${few.campaignId}`)
  assert.deepEqual([ofFew.body.rows.length, ofFew.body.rows[0].serves], [1, null])
  // Somebody else's advertiser is not there, and their own has nothing of this one, also when its campaign is named.
  assert.equal((await other.send(`GET /api/advertisers/${shop}/report`)).status, 404)
  assert.equal((await other.send(`GET /api/advertisers/${shop}/report.csv`)).status, 404)
  const stolen = await must(other.send(`GET /api/advertisers/${theirs}/report?campaign=${many.campaignId}`))
  assert.deepEqual([stolen.body.rows, stolen.body.total.spentNanos], [[], '0'])
  assert.equal((await person.send(`GET /api/advertisers/${shop}/report?by=reader`)).status, 422)
  assert.equal((await person.send(`GET /api/advertisers/${shop}/report?from=2020-01-01`)).status, 422)
})

test('the file of a report has a row for each, and a column for every verdict', async () => {
  const person = await newPerson(world)
  const shop = await newShop(person)
  const { db } = world.store
  await fund(db, shop, 50n * DOLLAR)
  const match = await offerOf(shop)
  const shown = await show(db, { ...match, hint: '=cmd|calc' }, world.project.id, 10)
  await click(db, shown[0] ?? '')
  await addUp()
  const { text } = await must(person.send(`GET /api/advertisers/${shop}/report.csv?by=hint`))
  const [header = '', row = ''] = text.split('\r\n')
  assert.match(
    header,
    /^hint,id,recommendations,paid clicks,clicks: Not delivered,.*,clicks: Taken back,conversions,spent/,
  )
  assert.match(row, /^"'=cmd\|calc",,10,1,0,(?:0,)+0\.12,0\.12$/, 'and no spreadsheet runs it')
  assert.equal(row.split(',').length, header.split(',').length)
})

test('a campaign says what held it back lately, as long as nothing keeps it out now', async () => {
  const person = await newPerson(world)
  const shop = await newShop(person)
  const { db } = world.store
  await fund(db, shop, 50n * DOLLAR)
  const campaigns = `/api/advertisers/${shop}/campaigns`
  const make = { body: { name: 'Lamps', bidNanos: '400000000' } }
  const { id } = (await must(person.send(`POST ${campaigns}`, make))).body
  const standing = async () => {
    const { body } = await must(person.send(`GET ${campaigns}/${id}`))
    return [body.standing, body.limitedBy]
  }
  assert.deepEqual(await standing(), ['running', null])
  await addChances(db, [{ campaignId: id, open: 5_000n, fitted: 10n, contended: 10n, won: 9n }])
  assert.deepEqual(await standing(), ['running', 'fit'])
  await addChances(db, [{ campaignId: id, open: 0n, fitted: 400n, contended: 390n, won: 20n }])
  assert.deepEqual(await standing(), ['running', 'bid'])
  await must(person.send(`PATCH ${campaigns}/${id}`, { body: { totalBudgetNanos: '300000000' } }))
  assert.deepEqual(await standing(), ['limited', 'total_budget'])
  await must(person.send(`PUT ${campaigns}/${id}/status`, { body: { status: 'paused' } }))
  assert.deepEqual(await standing(), ['paused', null])
  const { rows } = await sql`select 1 from campaign_chances where campaign_id = ${id}`.execute(db)
  assert.equal(rows.length, 1, 'one row for the day')
})

test('a preview of hints is asked of the matcher, and not too often', async () => {
  const person = await newPerson(world)
  const shop = await newShop(person)
  const body = { hints: [' for people  who read at night '], negativeHints: [] }
  const preview = () => person.send(`POST /api/advertisers/${shop}/hint-preview`, { body })
  const answers = await Promise.all(Array.from({ length: 41 }, preview))
  assert.deepEqual(
    [200, 429].map((wanted) => answers.filter(({ status }) => status === wanted).length),
    [40, 1],
  )
  // This matcher knows nothing of hints, as one of the version before.
  assert.deepEqual(answers.find(({ status }) => status === 200)?.body, { samples: null, nearEnough: null })
})
