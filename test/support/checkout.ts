/** A payment through Stripe in a world of tests: its checkout, the events about it, and what became of it. */
import assert from 'node:assert/strict'
import type { Tx } from '../../src/store/database.ts'
import { findProject } from '../../src/store/projects/projects.ts'
import { PARLEY } from '../../src/actions/actor.ts'
import { openCheckout } from '../../src/actions/billing/checkout.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { nanosOfCents } from '../../src/rules/billing/payments.ts'
import { listPayments } from '../../src/store/billing/payments.ts'
import { findWallet, listEntries, refundWallet } from '../../src/store/billing/wallets.ts'
import { eventOf, signatureOf, STRIPE_KEY, WEBHOOK_SECRET, type StripeStandIn } from './stripe.ts'
import { addProject, createWorld, walletOf, type World } from './world.ts'

export const CENTS = 2_500
export const AMOUNT = nanosOfCents(CENTS)

export type Checkout = Awaited<ReturnType<typeof checkoutAt>>

/** A console that takes Stripe's events. */
export function createPaymentWorld(settings: Record<string, string> = {}): Promise<World> {
  const env = { PARLEY_CONSOLE_PORT: '0', PARLEY_STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET, ...settings }
  return createWorld({ env, roles: ['console'] })
}

export interface Answer {
  status: number
  verdict: string | undefined
}

export async function postEvent(url: string, payload: string, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', body: payload, headers })
  const { verdict } = (await response.json()) as { verdict?: string }
  return { status: response.status, verdict }
}

/** Delivers an event that Parley takes at once. Returns Parley's verdict. */
export async function tellWorld(world: World, payload: string): Promise<string | undefined> {
  const { status, verdict } = await deliver(world, payload)
  assert.equal(status, 200)
  return verdict
}

const DELIVERIES_MAX = 10

/** All at the same time. On a busy machine one may wait too long for the others and get 503; Stripe sends it again. */
export function tellAtOnce(world: World, payloads: readonly string[]): Promise<(string | undefined)[]> {
  return Promise.all(
    payloads.map(async (payload) => {
      for (let delivery = 1; delivery < DELIVERIES_MAX; delivery += 1) {
        const { status, verdict } = await deliver(world, payload)
        if (status === 200) return verdict
        assert.equal(status, 503)
      }
      return tellWorld(world, payload)
    }),
  )
}

function deliver(world: World, payload: string): Promise<Answer> {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signatureOf(payload) }
  return postEvent(`${world.running.consoleUrl}/webhooks/stripe`, payload, headers)
}

let intents = 0

interface DisputeChange {
  id?: string
  cents?: number
  created?: number
}

/** An empty project that was sent to a checkout, and the events of its payment. */
export async function checkoutAt(world: World, stripe: StripeStandIn, change: Record<string, unknown> = {}) {
  const { db } = world.store
  const { id: projectId } = await addProject(world.store, world.secrets, { credits: '0' })
  const row = await findProject(db, projectId)
  const project = { id: projectId, name: String(row?.name), publisherId: String(row?.publisher_id) }
  const pages = { successUrl: 'https://a.example/', cancelUrl: undefined }
  const account = { secretKey: STRIPE_KEY, apiBase: stripe.url, hasTax: false }
  const inOne = <T>(work: (tx: Tx) => Promise<T>) => db.transaction().execute(work)
  const checkout = { project, amount: AMOUNT, stripe: account, ...pages }
  const { sessionId, url } = await openCheckout(inOne, PARLEY, checkout)
  const paymentIntent = `pi_${(intents += 1)}`
  // Stripe's time is in seconds, and decides which of two events is the newer. Where nothing else is said, neither is.
  const nowSeconds = Date.now() / 1_000
  const session = {
    id: sessionId,
    object: 'checkout.session',
    payment_status: 'paid',
    payment_intent: paymentIntent,
    amount_total: CENTS,
    currency: 'usd',
    ...change,
  }
  return {
    projectId,
    sessionId,
    paymentIntent,
    url,
    completed: (differing = {}) => eventOf('checkout.session.completed', { ...session, ...differing }),
    succeeded: () => eventOf('checkout.session.async_payment_succeeded', session),
    expired: () => eventOf('checkout.session.expired', { ...session, payment_status: 'unpaid', payment_intent: null }),
    refunded: (cents: number, currency = 'usd', created = nowSeconds) =>
      eventOf(
        'charge.refunded',
        {
          id: `ch_${paymentIntent}`,
          object: 'charge',
          payment_intent: paymentIntent,
          amount: CENTS,
          amount_refunded: cents,
          currency,
        },
        created,
      ),
    disputed: (type = 'charge.dispute.funds_withdrawn', status = 'needs_response', change: DisputeChange = {}) => {
      const { id = 'du', cents = CENTS, created = nowSeconds } = change
      const facts = { payment_intent: paymentIntent, amount: cents, currency: 'usd', status }
      return eventOf(type, { id: `${id}_${paymentIntent}`, ...facts }, created)
    },
    owed: async () => (await findWallet(db, projectId))?.owed_nanos,
    balance: async () => (await walletOf(world.store, projectId)).balance,
    spend: (amount: bigint) =>
      refundWallet(db, { id: uuidv7(), projectId, amount, reference: `spent:${uuidv7()}`, reason: null }),
    entries: async () => (await listEntries(db, projectId, 100)).map(({ kind, delta_nanos }) => [kind, delta_nanos]),
    payment: async () => (await listPayments(db, projectId, 1))[0],
    absorbed: async () => {
      const transfers = db.selectFrom('transfers').select('amount_nanos').where('kind', '=', 'absorbed')
      return (await transfers.where('reference', 'like', `absorbed:stripe:%${paymentIntent}:%`).execute()).map(
        ({ amount_nanos }) => amount_nanos,
      )
    },
  }
}
