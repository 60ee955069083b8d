import type { FastifyInstance } from 'fastify'
import { openAdvertiserCheckout } from '../../actions/billing/checkout.ts'
import { CheckoutFailed } from '../../actions/billing/stripe.ts'
import { conflict, notThere, wrongField } from '../../actions/refusals.ts'
import { daysLeft } from '../../rules/billing/costs.ts'
import { titleOfMovement, type LedgerKind } from '../../rules/billing/ledger-labels.ts'
import { centsOf, TOP_UP_MAX, TOP_UP_MIN } from '../../rules/billing/payments.ts'
import { ParleyError } from '../../rules/errors.ts'
import { formatCredits } from '../../rules/money.ts'
import {
  findAdvertiserPayment,
  listAdvertiserMovements,
  listSpentByDay,
} from '../../store/billing/advertiser-payments.ts'
import { findAdvertiserBalance } from '../../store/billing/wallets.ts'
import type { Db } from '../../store/database.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { route } from '../route.ts'
import { throttle } from '../throttle.ts'
import type { World } from '../world.ts'

const SPENT_DAYS = 7
const DAYS_SHOWN = 30
const MOVEMENTS_SHOWN = 100
const CHECKOUTS_PER_MINUTE = 10

export function advertiserWalletRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/advertisers/:advertiser/wallet', ({ db, advertiser }) =>
    describe(world, db, advertiser.id),
  )

  route(app, world, 'POST /api/advertisers/:advertiser/checkouts', (call) => pay(world, call))

  route(app, world, 'GET /api/advertisers/:advertiser/checkouts/:checkout', async ({ db, advertiser, params }) => {
    const payment = await findAdvertiserPayment(db, advertiser.id, params.checkout)
    if (!payment) throw notThere('checkout')
    return { state: payment.state as 'created', amountNanos: payment.amount_nanos, paidAt: payment.paid_at }
  })
}

async function describe(world: World, db: Db, advertiserId: string) {
  const balance = await findAdvertiserBalance(db, advertiserId)
  const days = await listSpentByDay(db, advertiserId, DAYS_SHOWN)
  const spent = days.slice(-SPENT_DAYS).reduce((sum, { spentNanos }) => sum + spentNanos, 0n)
  const movements = await listAdvertiserMovements(db, MOVEMENTS_SHOWN)
  return {
    balanceNanos: balance,
    spent7dNanos: spent,
    daysLeft: daysLeft(balance, spent, SPENT_DAYS),
    topUp: { isOpen: world.installation.canPay, minNanos: TOP_UP_MIN, maxNanos: TOP_UP_MAX },
    movements: movements.map(({ id, kind, deltaNanos, reference, reason, createdAt: at }) => {
      // Only of clicks is no reference told.
      const isClick = kind === 'reversal' && reference === null
      const title = isClick ? 'Invalid click given back' : titleOfMovement(kind as LedgerKind, deltaNanos)
      return { id, title, at, deltaNanos, reference, reason }
    }),
    days: days.filter(({ clicks, spentNanos }) => clicks > 0 || spentNanos > 0n).toReversed(),
  }
}

async function pay(world: World, call: ConsoleRequest<'POST /api/advertisers/:advertiser/checkouts'>) {
  const { actor, advertiser, body, inTenant } = call
  const { stripe, installation } = world
  const { amountNanos: amount } = body
  if (!stripe || !installation.canPay)
    throw conflict('Payments are not set up on this installation. Ask its operator to add credit.')
  if (amount < TOP_UP_MIN || amount > TOP_UP_MAX || centsOf(amount) === undefined)
    throw wrongField('amountNanos', `Whole cents, from ${formatCredits(TOP_UP_MIN)} to ${formatCredits(TOP_UP_MAX)}.`)
  await throttle(world.db, [{ subject: `checkouts/${advertiser.id}`, most: CHECKOUTS_PER_MINUTE }])
  const page = `${installation.consoleUrl}/advertisers/${advertiser.id}/wallet`
  const pages = { successUrl: `${page}?paid={CHECKOUT_SESSION_ID}`, cancelUrl: page }
  const order = { advertiser, amount, stripe, ...pages }
  const { sessionId, url } = await openAdvertiserCheckout(inTenant, actor, order).catch((error: unknown) => {
    if (!(error instanceof CheckoutFailed)) throw error
    const message = 'The payment page could not be opened. Nothing was charged. Try again in a moment.'
    throw new ParleyError('upstream_failed', { message, details: { reason: error.message } })
  })
  return { id: sessionId, url }
}
