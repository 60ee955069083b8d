import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { titleOfMovement } from '../../src/rules/billing/ledger-labels.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { listDueAlerts, markTold } from '../../src/store/billing/wallet-alerts.ts'
import { adjustWallet, creditWallet, refundCall, refundWallet } from '../../src/store/billing/wallets.ts'
import { tellLowBalances } from '../../src/worker/tell-low-balances.ts'
import { DAY_MS } from '../../src/rules/durations.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'
import { addSettledCall, auditOf } from '../support/ledger.ts'
import { eventOf, signatureOf, startStripe, STRIPE_KEY, WEBHOOK_SECRET, type StripeStandIn } from '../support/stripe.ts'
import { addDoubling, doubled } from '../support/usage-rows.ts'
import { addKeyPair, chatBody, complete, credit, rollUp, until, walletOf } from '../support/world.ts'

const DOLLAR = 1_000_000_000n
let world: ConsoleWorld
let stripe: StripeStandIn
let owner: Person

before(async () => {
  stripe = await startStripe()
  world = await createConsoleWorld({
    env: {
      PARLEY_STRIPE_SECRET_KEY: STRIPE_KEY,
      PARLEY_STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      PARLEY_STRIPE_API_BASE: stripe.url,
    },
  })
  owner = await newPerson(world)
})
after(async () => {
  await world.close()
  await stripe.close()
})
afterEach(async () => assert.deepEqual(await auditOf(world.store), []))

/** Calls that began that long ago, have ended just now, and that the wallet has paid. */
async function addUsage(projectId: string, agoMs: number, charges: readonly bigint[]): Promise<string[]> {
  const { db } = world.store
  const key = await db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  const ids = charges.map(() => uuidv7(Date.now() - agoMs))
  await db.transaction().execute(async (tx) => {
    for (const [n, charge] of charges.entries())
      await addSettledCall(tx, { id: String(ids[n]), projectId, keyPairId: key.id, charge })
    const spent = charges.reduce((sum, charge) => sum + charge, 0n)
    const { balance } = await walletOf(world.store, projectId)
    await tx
      .updateTable('wallets')
      .set({ balance_nanos: balance - spent })
      .where('project_id', '=', projectId)
      .execute()
  })
  return ids
}

async function fundedProject(dollars = 100n): Promise<string> {
  const project = await newProject(owner)
  await addKeyPair(world.store, world.secrets, project)
  await credit(world.store, project, dollars * DOLLAR)
  return project
}

async function ledgerOf(person: Person, project: string, query = '') {
  const { body } = await must(person.send(`GET /api/projects/${project}/ledger${query}`))
  return body as {
    items: {
      kind: string
      title: string
      deltaNanos: string
      balanceAfterNanos: string
      at: string
      call: string | null
    }[]
    next: string | null
  }
}

test('the wallet says what is there, what running calls hold, and what is left of it', async () => {
  const project = await fundedProject()
  await world.store.db
    .updateTable('wallets')
    .set({ held_nanos: 2n * DOLLAR, open_holds: 1 })
    .where('project_id', '=', project)
    .execute()
  const { body } = await must(owner.send(`GET /api/projects/${project}/wallet`))
  await world.store.db
    .updateTable('wallets')
    .set({ held_nanos: 0n, open_holds: 0 })
    .where('project_id', '=', project)
    .execute()
  assert.equal(body.balanceNanos, String(100n * DOLLAR))
  assert.equal(body.heldNanos, String(2n * DOLLAR))
  assert.equal(body.availableNanos, String(98n * DOLLAR))
  assert.equal(body.runningCalls, 1)
  assert.deepEqual(body.topUp, { isOpen: true, minNanos: String(5n * DOLLAR), maxNanos: String(10_000n * DOLLAR) })
})

test('what was spent in 7 days is that of today and of the six days before it, from the first moment of a day to its last', async (t) => {
  const project = await fundedProject()
  const midnightMs = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS
  const { db } = world.store
  await addDoubling(db, 'usage_days', project, midnightMs, 10)
  t.after(() => db.deleteFrom('usage_days').where('project_id', '=', project).execute())
  // The session outlives the day on which it began.
  await db
    .updateTable('sessions')
    .set({ expires_at: new Date(midnightMs + DAY_MS) })
    .execute()
  const spentAt = async (now: number) => {
    t.mock.timers.enable({ apis: ['Date'], now })
    const { body } = await must(owner.send(`GET /api/projects/${project}/wallet`))
    t.mock.timers.reset()
    return body.spent7dNanos as string
  }
  assert.equal(await spentAt(midnightMs - 1), String(doubled(1, 7)))
  assert.equal(await spentAt(midnightMs), String(doubled(1, 6)), 'of the day that begins nothing is spent yet')
})

test('usage is one row a day, movements are listed one by one, and each balance is the sum of everything below it', async () => {
  const project = await fundedProject()
  const [first = ''] = await addUsage(project, DAY_MS, [3n * DOLLAR, 2n * DOLLAR])
  await addUsage(project, 0, [DOLLAR])
  await rollUp(world.store)
  // Not rolled up: the ledger must tell of it all the same.
  await addUsage(project, 0, [DOLLAR / 2n])
  const movement = { projectId: project, reason: 'because', id: uuidv7() }
  await creditWallet(world.store.db, { ...movement, kind: 'grant', amount: 5n * DOLLAR, reference: uuidv7() })
  await refundCall(world.store.db, first, { ...movement, id: uuidv7(), amount: DOLLAR, reference: uuidv7() })
  await adjustWallet(world.store.db, { ...movement, id: uuidv7(), amount: -2n * DOLLAR, reference: uuidv7() })

  const { items, next } = await ledgerOf(owner, project)
  assert.equal(next, null)
  assert.deepEqual(
    items.map(({ kind, deltaNanos }) => [kind, Number(deltaNanos) / 1e9]),
    [
      ['usage', -1.5],
      ['adjustment', -2],
      ['refund', 1],
      ['grant', 5],
      ['topup', 100],
      ['usage', -5],
    ],
  )
  const { balance } = await walletOf(world.store, project)
  let expected = balance
  for (const { deltaNanos, balanceAfterNanos } of items) {
    assert.equal(balanceAfterNanos, String(expected))
    expected -= BigInt(deltaNanos)
  }
  assert.equal(expected, 0n, 'the ledger begins with nothing')
  assert.equal(items[2]?.call, `chatcmpl-${first.replaceAll('-', '')}`)

  const pages: typeof items = []
  for (let after: string | null = ''; after !== null;) {
    const page = await ledgerOf(owner, project, `?limit=1${after && `&after=${after}`}`)
    pages.push(...page.items)
    after = page.next
  }
  assert.deepEqual(pages, items, 'page by page it is the same list')
  const grants = await ledgerOf(owner, project, '?kind=grant')
  assert.deepEqual(grants.items, [items[3]], 'a filter changes neither the row nor its balance')

  const today = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS).toISOString()
  const older = await ledgerOf(owner, project, `?to=${today}`)
  assert.deepEqual(
    older.items.map(({ balanceAfterNanos }) => balanceAfterNanos),
    [String(-5n * DOLLAR)],
  )
  const newer = await ledgerOf(owner, project, `?from=${today}`)
  assert.deepEqual(newer.items, items.slice(0, 5))

  const { text, headers } = await must(owner.send(`GET /api/projects/${project}/ledger.csv`))
  assert.match(String(headers.get('content-disposition')), /ledger\.csv/)
  assert.equal(text.trim().split('\r\n').length, 7)
  assert.match(text, /Usage,,1\.50,/)
})

test('what was charged today and is not rolled up yet is a row of its own, also when the day before has one', async () => {
  const project = await fundedProject()
  await addUsage(project, DAY_MS, [3n * DOLLAR])
  await rollUp(world.store)
  await world.store.db.transaction().execute(async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx)
    await sql`update transfers set created_at = created_at - interval '2 days' where credit_account = ${project}`.execute(
      tx,
    )
  })
  await addUsage(project, 0, [DOLLAR])
  const { items } = await ledgerOf(owner, project)
  assert.deepEqual(
    items.map(({ kind, deltaNanos }) => [kind, Number(deltaNanos) / 1e9]),
    [
      ['usage', -1],
      ['usage', -3],
      ['topup', 100],
    ],
  )
})

test('every kind of movement has a name', () => {
  assert.equal(titleOfMovement('refund', 1n), 'Refund')
  assert.equal(titleOfMovement('refund', -1n), 'Payment refunded')
  assert.equal(titleOfMovement('late_charge', -1n), 'Late charge')
})

/** As Stripe does. */
async function tellOf(event: string): Promise<void> {
  const headers = { 'content-type': 'application/json', 'stripe-signature': signatureOf(event) }
  const { status } = await fetch(`${world.consoleUrl}/webhooks/stripe`, { method: 'POST', body: event, headers })
  assert.equal(status, 200)
}

test('a payment that was refunded to its payer belongs to no call', async () => {
  const project = await newProject(owner)
  const order = { amountNanos: String(25n * DOLLAR) }
  const { body } = await must(owner.send(`POST /api/projects/${project}/checkouts`, { body: order }))
  const payment = { payment_intent: 'pi_refunded', currency: 'usd' }
  const paid = { ...payment, id: body.id, payment_status: 'paid', amount_total: 2_500 }
  await tellOf(eventOf('checkout.session.completed', paid))
  await tellOf(eventOf('charge.refunded', { ...payment, id: 'ch_refunded', amount: 2_500, amount_refunded: 1_000 }))
  const { items } = await ledgerOf(owner, project)
  assert.deepEqual(
    items.map(({ title, deltaNanos, call }) => [title, BigInt(deltaNanos) / DOLLAR, call]),
    [
      ['Payment refunded', -10n, null],
      ['Top-up', 25n, null],
    ],
  )
})

test('a top-up opens a page of Stripe, comes back to the wallet, and is credited when Stripe says that it was paid', async () => {
  const project = await newProject(owner)
  const { body } = await must(
    owner.send(`POST /api/projects/${project}/checkouts`, { body: { amountNanos: String(25n * DOLLAR) } }),
  )
  const order = stripe.checkouts.at(-1)
  assert.equal(order?.['line_items[0][price_data][unit_amount]'], '2500')
  assert.equal(order?.success_url, `http://console.test/projects/${project}/wallet?paid={CHECKOUT_SESSION_ID}`)
  assert.equal(body.url, `${stripe.url}/pay/${body.id}`)
  const state = async () => (await must(owner.send(`GET /api/projects/${project}/checkouts/${body.id}`))).body.state
  assert.equal(await state(), 'created')
  const paid = eventOf('checkout.session.completed', {
    id: body.id,
    payment_status: 'paid',
    payment_intent: 'pi_console',
    amount_total: 2_500,
    currency: 'usd',
  })
  await tellOf(paid)
  assert.equal(await state(), 'paid')
  const { items } = await ledgerOf(owner, project)
  assert.deepEqual(
    items.map(({ kind, deltaNanos }) => [kind, deltaNanos]),
    [['topup', String(25n * DOLLAR)]],
  )
  const { body: log } = await must(
    owner.send(`GET /api/publishers/${owner.publisherId}/audit-log?action=wallet.checkout_opened`),
  )
  assert.equal(log.items[0].details.amount, '$25.00')
})

test('without the secret that payments are confirmed by, none can be begun', async () => {
  const half = await createConsoleWorld({ roles: ['console'], env: { PARLEY_STRIPE_SECRET_KEY: STRIPE_KEY } })
  try {
    const person = await newPerson(half)
    const project = await newProject(person)
    const { body } = await must(person.send(`GET /api/projects/${project}/wallet`))
    assert.equal(body.topUp.isOpen, false)
    const { body: me } = await must(person.send('GET /api/me'))
    assert.equal(me.installation.canPay, false)
  } finally {
    await half.close()
  }
})

test('an amount that is too small, too large or not in whole cents is refused beside its field', async () => {
  const project = await newProject(owner)
  for (const amountNanos of [
    '0',
    String(4n * DOLLAR),
    String(10_001n * DOLLAR),
    String(25n * DOLLAR + 1n),
    '-5',
    'x',
  ]) {
    const { status, body } = await owner.send(`POST /api/projects/${project}/checkouts`, { body: { amountNanos } })
    assert.equal(status, 422, amountNanos)
    assert.equal(body.fields[0].path, 'amountNanos')
  }
})

test('ten checkouts a minute can be opened for a project', async () => {
  const project = await newProject(owner)
  const open = async () => {
    const body = { amountNanos: String(25n * DOLLAR) }
    return (await owner.send(`POST /api/projects/${project}/checkouts`, { body })).status
  }
  const subject = createHash('sha256').update(`checkouts/${project}`).digest()
  await world.store.db.insertInto('throttles').values({ subject, attempts: 9, started_at: new Date() }).execute()
  assert.deepEqual([await open(), await open()], [200, 429])
})

test('when Stripe is away, nothing is written and the answer quotes no key', async () => {
  const project = await newProject(owner)
  stripe.failures.push(500, 500, 500)
  const { status, text } = await owner.send(`POST /api/projects/${project}/checkouts`, {
    body: { amountNanos: String(25n * DOLLAR) },
  })
  assert.equal(status, 502)
  assert.ok(!text.includes('sk_test'))
  const payments = await world.store.db
    .selectFrom('payments')
    .select('session_id')
    .where('project_id', '=', project)
    .execute()
  assert.deepEqual(payments, [])
})

const ALERT_LIMITS = 'More than nothing, and at most $10000.00.'

test('owners get one mail each time the balance falls below the alert, and none while it stays there', async () => {
  const project = await fundedProject(20n)
  const set = (thresholdNanos: string | null) =>
    owner.send(`PUT /api/projects/${project}/wallet-alert`, { body: { thresholdNanos } })
  for (const wrong of ['0', String(10_000n * DOLLAR + 1n)]) {
    const { status, body } = await set(wrong)
    assert.deepEqual([status, body.fields], [422, [{ path: 'thresholdNanos', message: ALERT_LIMITS }]], wrong)
  }
  await must(set(String(10_000n * DOLLAR)))
  await must(set(String(10n * DOLLAR)))
  const { db, tenants } = world.store
  const tell = () => tellLowBalances({ db, tenants, secrets: world.secrets, consoleUrl: 'http://console.test' })
  const mails = async () =>
    Number(
      (
        await world.store.db
          .selectFrom('mails')
          .select(({ fn }) => fn.countAll<bigint>().as('n'))
          .where('template', '=', 'low_balance')
          .executeTakeFirstOrThrow()
      ).n,
    )
  await tell()
  assert.equal(await mails(), 0, 'there is enough')
  await must(set(String(30n * DOLLAR)))
  await tell()
  assert.equal(await mails(), 0, 'whoever sets an alert above the balance has just seen the balance')
  await must(set(String(10n * DOLLAR)))
  await tell()
  await addUsage(project, 0, [11n * DOLLAR])
  await Promise.all([tell(), tell(), tell()])
  assert.equal(await mails(), 1, 'three workers at once send one mail')
  await tell()
  assert.equal(await mails(), 1, 'it stays below')
  await credit(world.store, project, 10n * DOLLAR)
  await tell()
  await addUsage(project, 0, [10n * DOLLAR])
  await tell()
  assert.equal(await mails(), 2, 'it has fallen again')
  await until(() => world.mails.some(({ to, text }) => to === owner.email && text.includes('$9.00')), 20_000)
  const { body } = await must(owner.send('GET /api/me'))
  const summary = body.publishers[0].projects.find(({ id }: { id: string }) => id === project)
  assert.equal(summary.alertNanos, String(10n * DOLLAR))
  await must(set(null))
  assert.equal((await must(owner.send(`GET /api/projects/${project}/wallet`))).body.alertNanos, null)
})

test('an alert that is changed while its mail is being written is not taken for told', async () => {
  const project = await fundedProject(20n)
  const { db } = world.store
  const values = { project_id: project, threshold_nanos: 30n * DOLLAR }
  await db.insertInto('wallet_alerts').values(values).execute()
  const due = (await listDueAlerts(db, 1_000)).find(({ projectId }) => projectId === project)
  assert.ok(due)
  const change = db.updateTable('wallet_alerts').where('project_id', '=', project)
  await change.set({ threshold_nanos: 25n * DOLLAR }).execute()
  assert.equal(await markTold(db, due), false)
  await change.set({ threshold_nanos: 30n * DOLLAR }).execute()
  assert.equal(await markTold(db, due), true)
})

test('a member who is not an admin reads the wallet and changes nothing; a stranger does not know of it', async () => {
  const project = await fundedProject()
  const viewer = await newPerson(world)
  const user = await world.store.db
    .selectFrom('users')
    .select('id')
    .where('email', '=', viewer.email)
    .executeTakeFirstOrThrow()
  await world.store.db
    .insertInto('memberships')
    .values({ publisher_id: owner.publisherId, user_id: user.id, role: 'developer' })
    .execute()
  await must(viewer.send(`GET /api/projects/${project}/wallet`))
  const body = { amountNanos: String(25n * DOLLAR) }
  assert.equal((await viewer.send(`POST /api/projects/${project}/checkouts`, { body })).status, 403)
  const alert = { thresholdNanos: '1' }
  assert.equal((await viewer.send(`PUT /api/projects/${project}/wallet-alert`, { body: alert })).status, 403)
  const stranger = await newPerson(world)
  for (const path of ['wallet', 'ledger', 'ledger.csv', 'checkouts/cs_test_1'])
    assert.equal((await stranger.send(`GET /api/projects/${project}/${path}`)).status, 404, path)
})

test('what a real call costs is in the ledger as soon as it has ended', async () => {
  const project = await newProject(owner)
  await setDomainVerified(world.store.db, project, new Date())
  await credit(world.store, project, DOLLAR)
  const keys = await addKeyPair(world.store, world.secrets, project)
  const response = await complete(
    { ...world, project: { ...keys, id: project, publisherId: owner.publisherId } },
    chatBody('tokens=5'),
  )
  assert.equal(response.status, 200, await response.text())
  await until(async () => (await walletOf(world.store, project)).openHolds === 0)
  const { items } = await ledgerOf(owner, project)
  assert.equal(items[0]?.kind, 'usage')
  const { charged_nanos: charged } = await world.store.db
    .selectFrom('charges')
    .select('charged_nanos')
    .where('project_id', '=', project)
    .executeTakeFirstOrThrow()
  assert.ok(charged > 0n)
  assert.deepEqual([items[0]?.deltaNanos, items[0]?.balanceAfterNanos], [String(-charged), String(DOLLAR - charged)])
})

test('what is owed stands in the wallet and in its ledger until a top-up has paid it', async () => {
  const project = await fundedProject(2n)
  const taken = {
    id: uuidv7(),
    projectId: project,
    amount: 5n * DOLLAR,
    reference: `back:${project}`,
    reason: 'disputed',
  }
  await refundWallet(world.store.db, taken, true)
  const look = async () => (await must(owner.send(`GET /api/projects/${project}/wallet`))).body
  assert.partialDeepStrictEqual(await look(), {
    balanceNanos: '0',
    availableNanos: '0',
    owedNanos: String(3n * DOLLAR),
  })
  await credit(world.store, project, 4n * DOLLAR)
  assert.partialDeepStrictEqual(await look(), { balanceNanos: String(DOLLAR), owedNanos: '0' })
  const { items } = await ledgerOf(owner, project)
  assert.deepEqual(
    items.map(({ kind, deltaNanos, balanceAfterNanos }) => [
      kind,
      ...[deltaNanos, balanceAfterNanos].map((nanos) => BigInt(nanos) / DOLLAR),
    ]),
    [
      ['collection', -3n, 1n],
      ['topup', 4n, 4n],
      ['refund', -5n, 0n],
      ['owed', 3n, 5n],
      ['topup', 2n, 2n],
    ],
    'in the order in which they happened: no balance on the way is below zero',
  )
})
