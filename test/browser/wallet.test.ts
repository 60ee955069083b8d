import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { refundWallet } from '../../src/store/billing/wallets.ts'
import { eventOf, signatureOf, startStripe, STRIPE_KEY, WEBHOOK_SECRET, type StripeStandIn } from '../support/stripe.ts'
import { credit } from '../support/world.ts'
import { createBrowserWorld, PHONE, type BrowserWorld } from './support/browser-world.ts'

let world: BrowserWorld
let stripe: StripeStandIn
before(async () => {
  stripe = await startStripe()
  world = await createBrowserWorld({
    env: {
      PARLEY_STRIPE_SECRET_KEY: STRIPE_KEY,
      PARLEY_STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      PARLEY_STRIPE_API_BASE: stripe.url,
    },
  })
})
after(async () => {
  await world.close()
  await stripe.close()
})

test('an owner tops up through Stripe and sees the credit arrive without touching the page', async () => {
  const { page, context, project } = await world.signedUp()
  await page.goto(`/projects/${project.id}/wallet`)
  await page.getByText('No transactions yet').waitFor()
  await world.check(page)
  await page.getByRole('button', { name: 'Top up' }).click()
  const amount = page.getByRole('dialog').getByLabel('Amount in US dollars')
  await amount.fill('3')
  await page.getByRole('button', { name: 'Pay $3.00' }).click()
  await page.getByRole('alert').filter({ hasText: 'From $5.00 to $10,000.00' }).waitFor()
  await page.getByRole('button', { name: '$50', exact: true }).click()
  await world.check(page)
  await Promise.all([page.waitForURL(`${stripe.url}/pay/**`), page.getByRole('button', { name: 'Pay $50.00' }).click()])

  const checkout = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  const order = stripe.checkouts.at(-1)
  await page.goto(String(order?.success_url).replace('{CHECKOUT_SESSION_ID}', checkout))
  await page.getByText('Waiting for Stripe to confirm the payment').waitFor()
  const paid = eventOf('checkout.session.completed', {
    id: checkout,
    payment_status: 'paid',
    payment_intent: `pi_${checkout}`,
    amount_total: 5_000,
    currency: 'usd',
  })
  const headers = { 'content-type': 'application/json', 'stripe-signature': signatureOf(paid) }
  await fetch(`${world.consoleUrl}/webhooks/stripe`, { method: 'POST', body: paid, headers })
  await page.getByText('$50.00 has arrived.').waitFor({ timeout: 20_000 })
  const row = page.getByRole('row').filter({ hasText: 'Top-up' })
  await row.getByText('+$50.00').waitFor()
  await page.getByRole('button', { name: 'Dismiss' }).click()
  assert.equal(new URL(page.url()).search, '')

  await page.getByRole('form').or(page.locator('#wallet-alert')).getByLabel('Amount in US dollars').fill('60')
  await page.getByRole('button', { name: 'Turn on' }).click()
  await page.getByText('Below it now').waitFor()
  await context.close()
})

test('on a phone the wallet fits, filters are kept in the address, and a new alert is heeded at once on every page', async () => {
  const { page, context, project } = await world.signedUp({ viewport: PHONE })
  await setDomainVerified(world.store.db, project.id, new Date())
  await credit(world.store, project.id, 12_500_000_000n)
  await page.goto(`/projects/${project.id}/wallet`)
  await page.getByText('+$12.50').waitFor()
  await world.check(page)
  const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  assert.ok(excess <= 0, `${excess} px too wide`)
  await page.getByLabel('Type', { exact: true }).selectOption('usage')
  await page.getByText('Nothing matches these filters').waitFor()
  assert.equal(new URL(page.url()).search, '?kind=usage')
  const warning = page.getByRole('status').filter({ hasText: '$12.50 is left.' })
  assert.equal(await warning.count(), 0)
  await page.locator('#wallet-alert').getByLabel('Amount in US dollars').fill('12.51')
  await page.getByRole('button', { name: 'Turn on' }).click()
  await warning.waitFor({ timeout: 10_000 })
  await context.close()
})

test('what is owed is said above everything else, with what pays it', async () => {
  const { page, context, project } = await world.signedUp()
  const order = { id: uuidv7(), projectId: project.id, amount: 3_250_000_000n, reference: 'back', reason: 'disputed' }
  await refundWallet(world.store.db, order, true)
  await page.goto(`/projects/${project.id}/wallet`)
  await page.getByText('$3.25 is owed: a payment was reversed after its credit had been spent.').waitFor()
  await page.getByRole('row').filter({ hasText: 'Owed' }).getByText('+$3.25').waitFor()
  await world.check(page)
  await context.close()
})
