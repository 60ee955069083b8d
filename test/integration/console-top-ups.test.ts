import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { insertTopUp } from '../../src/store/billing/top-ups/auto-top-ups.ts'
import { must, newPerson, newProject, createConsoleWorld, type ConsoleWorld, type Person } from '../support/console.ts'
import { eventOf, signatureOf, startStripe, STRIPE_KEY, WEBHOOK_SECRET, type StripeStandIn } from '../support/stripe.ts'

const DOLLAR = 1_000_000_000n
const CHOSEN = {
  thresholdNanos: String(10n * DOLLAR),
  amountNanos: String(25n * DOLLAR),
  monthMaxNanos: String(100n * DOLLAR),
}

let world: ConsoleWorld
let stripe: StripeStandIn
let owner: Person

before(async () => {
  stripe = await startStripe()
  world = await createConsoleWorld({
    roles: ['console'],
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

/** Pays $25 and returns the checkout. */
async function topUp(person: Person, project: string, saveCard: boolean): Promise<string> {
  const body = { amountNanos: String(25n * DOLLAR), saveCard }
  const { body: opened } = await must(person.send(`POST /api/projects/${project}/checkouts`, { body }))
  const payload = eventOf('checkout.session.completed', stripe.objects.payCheckout(String(opened.id)))
  const headers = { 'content-type': 'application/json', 'stripe-signature': signatureOf(payload) }
  const { status } = await fetch(`${world.running.consoleUrl}/webhooks/stripe`, {
    method: 'POST',
    body: payload,
    headers,
  })
  assert.equal(status, 200)
  return String(opened.id)
}

test('a card is saved only when its payer wants it, and automatic top-ups need one', async () => {
  const project = await newProject(owner)
  const path = `/api/projects/${project}/auto-top-up`
  await topUp(owner, project, false)
  assert.equal(stripe.checkouts.at(-1)?.['payment_intent_data[setup_future_usage]'], undefined)
  const { body: without } = await must(owner.send(`GET ${path}`))
  assert.deepEqual([without.card, without.settings], [null, null])
  const refused = await owner.send(`PUT ${path}`, { body: CHOSEN })
  assert.deepEqual([refused.status, refused.body.code], [409, 'conflict'])

  await topUp(owner, project, true)
  const { body: saved } = await must(owner.send(`GET ${path}`))
  assert.deepEqual(saved.card, { brand: 'visa', last4: '4242', expMonth: 12, expYear: 2030 })
  assert.equal(saved.settings, null, 'off until somebody turns it on')
  await must(owner.send(`PUT ${path}`, { body: CHOSEN }))
  const { body: on } = await must(owner.send(`GET ${path}`))
  assert.partialDeepStrictEqual(on, { settings: CHOSEN, leftThisMonthNanos: CHOSEN.monthMaxNanos, hasTax: false })
  await must(owner.send(`DELETE /api/projects/${project}/card`))
  const { body: gone } = await must(owner.send(`GET ${path}`))
  assert.deepEqual([gone.card, gone.settings], [null, null])
})

test('what is wrong with the settings stands beside its field', async () => {
  const project = await newProject(owner)
  await topUp(owner, project, true)
  for (const [change, field] of [
    [{ thresholdNanos: '0' }, 'thresholdNanos'],
    [{ amountNanos: String(4n * DOLLAR) }, 'amountNanos'],
    [{ monthMaxNanos: String(24n * DOLLAR) }, 'monthMaxNanos'],
  ] as const) {
    const body = { ...CHOSEN, ...change }
    const { status, body: answer } = await owner.send(`PUT /api/projects/${project}/auto-top-up`, { body })
    assert.deepEqual([status, answer.fields[0].path], [422, field])
  }
})

test('the invoice of a payment is for its own project alone, and only once it is paid', async () => {
  const project = await newProject(owner)
  const checkout = await topUp(owner, project, false)
  const { body } = await must(owner.send(`GET /api/projects/${project}/top-ups/${checkout}/invoice`))
  assert.equal(body.kind, 'invoice')
  assert.match(body.url, /^https:\/\/invoice\.test\/in_/)
  const stranger = await newPerson(world)
  const theirs = await newProject(stranger)
  const asked = await stranger.send(`GET /api/projects/${theirs}/top-ups/${checkout}/invoice`)
  const other = await owner.send(`GET /api/projects/${await newProject(owner)}/top-ups/${checkout}/invoice`)
  assert.deepEqual([asked.status, other.status], [404, 404])
  assert.ok(!asked.text.includes('invoice.test'))
  const opened = await must(
    owner.send(`POST /api/projects/${project}/checkouts`, { body: { amountNanos: String(25n * DOLLAR) } }),
  )
  const unpaid = await owner.send(`GET /api/projects/${project}/top-ups/${String(opened.body.id)}/invoice`)
  assert.equal(unpaid.status, 404)
})

test('top-ups are listed with their state, page by page, the newest first', async () => {
  const project = await newProject(owner)
  const first = await topUp(owner, project, false)
  const card = { customer: 'cus_1', paymentMethod: 'pm_1' }
  await insertTopUp(world.store.db, { id: `auto_${project}`, projectId: project, amount: 25n * DOLLAR, ...card })
  const { body: one } = await must(owner.send(`GET /api/projects/${project}/top-ups?limit=1`))
  assert.deepEqual(
    one.items.map(({ id, state, isAutomatic }: Record<string, unknown>) => [id, state, isAutomatic]),
    [[`auto_${project}`, 'pending', true]],
  )
  const { body: two } = await must(owner.send(`GET /api/projects/${project}/top-ups?limit=1&after=${one.next}`))
  assert.deepEqual([two.items.length, two.items[0].id, two.items[0].state, two.next], [1, first, 'paid', null])
})
