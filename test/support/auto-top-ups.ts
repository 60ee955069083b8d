/** Saved cards and what is charged to them, in a world of tests: a console that hears of payments, and workers that charge. */
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { PARLEY } from '../../src/actions/actor.ts'
import { openCheckout } from '../../src/actions/billing/checkout.ts'
import type { StripeAccount } from '../../src/actions/billing/stripe.ts'
import { changeAutoTopUp } from '../../src/actions/billing/wallet-cards.ts'
import { createLog } from '../../src/platform/log.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { MailData } from '../../src/rules/accounts/mails.ts'
import type { MemberRole } from '../../src/rules/accounts/roles.ts'
import { NANOS_PER_CREDIT } from '../../src/rules/money.ts'
import { insertMembership } from '../../src/store/accounts/members.ts'
import { listPayments } from '../../src/store/billing/payments.ts'
import { findAutoTopUp } from '../../src/store/billing/top-ups/auto-top-ups.ts'
import { findCard } from '../../src/store/billing/top-ups/wallet-cards.ts'
import { listEntries, refundWallet } from '../../src/store/billing/wallets.ts'
import type { Tx } from '../../src/store/database.ts'
import { topUpWallets } from '../../src/worker/top-up-wallets.ts'
import { createPaymentWorld, tellWorld } from './checkout.ts'
import { openTestStore } from './database.ts'
import { loginUrl } from './logins.ts'
import { eventOf, startStripe, STRIPE_KEY } from './stripe.ts'
import type { Intent } from './stripe-objects.ts'
import { addProject, walletOf } from './world.ts'

export const dollars = (amount: number) => BigInt(amount) * NANOS_PER_CREDIT

export type TopUpWorld = Awaited<ReturnType<typeof createTopUpWorld>>
export type Subscriber = Awaited<ReturnType<typeof subscribe>>

const CHOSEN = { threshold: dollars(10), amount: dollars(20), monthMax: dollars(100) }

export async function createTopUpWorld() {
  const stripe = await startStripe()
  const world = await createPaymentWorld({ PARLEY_STRIPE_SECRET_KEY: STRIPE_KEY, PARLEY_STRIPE_API_BASE: stripe.url })
  const { DATABASE_URL = '' } = world.env
  const logins = { url: loginUrl(DATABASE_URL, 'worker'), tenantUrl: loginUrl(DATABASE_URL, 'tenant') }
  const workerStore = openTestStore({ ...logins, applicationName: 'top-up worker' })
  const account: StripeAccount = { secretKey: STRIPE_KEY, apiBase: stripe.url, hasTax: false }
  const { db, tenants } = workerStore
  const logged: string[] = []
  const log = createLog('info', { write: (line) => logged.push(line) })
  return {
    ...world,
    stripe,
    account,
    workerDb: db,
    log,
    /** The lines of the workers' log. */
    logged,
    /** One turn of a worker. */
    work: (change: Partial<StripeAccount> = {}) =>
      topUpWallets({
        db,
        tenants,
        log,
        secrets: world.secrets,
        consoleUrl: 'http://console.test',
        stripe: { ...account, ...change },
      }),
    told: (payload: string) => tellWorld(world, payload),
    async close() {
      await workerStore.close()
      await world.close()
      await stripe.close()
    },
  }
}

/** A project that has paid $25 by a card which it saved, and is topped up by $20 whenever it has less than $10. */
export async function subscribe(world: TopUpWorld, change: Partial<typeof CHOSEN> = {}, hasTax = false) {
  const { store, secrets, stripe } = world
  const { db } = store
  const { id, publisherId } = await addProject(store, secrets, { credits: '0' })
  const project = { id, publisherId, name: 'Test Project' }
  const inOne = <T>(work: (tx: Tx) => Promise<T>) => db.transaction().execute(work)
  const pages = { successUrl: 'https://a.example/', cancelUrl: undefined }
  const order = { project, amount: dollars(25), savesCard: true, stripe: { ...world.account, hasTax }, ...pages }
  const { sessionId } = await openCheckout(inOne, PARLEY, order)
  const session = stripe.objects.payCheckout(sessionId)
  const completed = eventOf('checkout.session.completed', session)
  assert.equal(await world.told(completed), 'credited')
  const choose = (more: Partial<typeof CHOSEN> = {}) =>
    inOne((tx) => changeAutoTopUp(tx, PARLEY, { project, chosen: { ...CHOSEN, ...change, ...more } }))
  await choose()
  const charges = () => [...stripe.objects.intents.values()].filter(isCharge)
  const isCharge = ({ metadata }: Intent) => metadata.parley_payment !== undefined && metadata.parley_project === id
  return {
    ...project,
    project,
    sessionId,
    completed,
    choose,
    card: () => findCard(db, id),
    settings: () => findAutoTopUp(db, id),
    balance: async () => (await walletOf(store, id)).balance,
    /** Until so much is left. */
    spendTo: async (left: bigint) => {
      const amount = (await walletOf(store, id)).balance - left
      await refundWallet(db, { id: uuidv7(), projectId: id, amount, reference: `spent:${uuidv7()}`, reason: null })
    },
    /** The card charges for top-ups that Stripe has, whether or not they succeeded. */
    charges,
    paid: () => charges().filter(({ status }) => status === 'succeeded'),
    topUps: async () => (await listPayments(db, id, 100)).filter(({ is_automatic }) => is_automatic),
    credits: async () =>
      (await listEntries(db, id, 100)).filter(({ kind }) => kind === 'topup').map(({ delta_nanos }) => delta_nanos),
    succeeded: (intent: Intent | undefined) => eventOf('payment_intent.succeeded', { ...intent }),
    /** As if so much time had passed since the payments of this project were begun. */
    age: (interval: string) =>
      sql`update payments set created_at = created_at - ${interval}::interval where project_id = ${id}`.execute(db),
    rested: () => sql`update auto_top_ups set next_try_at = now() where project_id = ${id}`.execute(db),
  }
}

export async function addMember(world: TopUpWorld, publisherId: string, role: MemberRole): Promise<string> {
  const user = { id: uuidv7(), name: role, email: `${role}-${publisherId}@example.com` }
  await world.store.db.insertInto('users').values(user).execute()
  await insertMembership(world.store.db, publisherId, user.id, role)
  return user.email
}

export async function mailsTo(world: TopUpWorld, recipient: string): Promise<MailData['top_up_failed'][]> {
  const mails = world.store.db.selectFrom('mails').selectAll().where('recipient', '=', recipient).orderBy('id')
  return (await mails.execute()).map(
    ({ id, sealed_body: sealed }) =>
      JSON.parse(world.secrets.unseal(String(sealed), `mail/${id}`, 'mails')) as MailData['top_up_failed'],
  )
}
