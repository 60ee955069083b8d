import type { FastifyInstance } from 'fastify'
import { findPaper, problemWithStripe } from '../../actions/billing/stripe-cards.ts'
import { changeAutoTopUp, removeSavedCard, switchAutoTopUpOff } from '../../actions/billing/wallet-cards.ts'
import { conflict, notThere } from '../../actions/refusals.ts'
import { leftOfMonth } from '../../rules/billing/auto-top-ups.ts'
import { topUpStateOf } from '../../rules/billing/payments.ts'
import { ParleyError } from '../../rules/errors.ts'
import { findPaid, listTopUps } from '../../store/billing/payments.ts'
import { findAutoTopUp, sumThisMonth } from '../../store/billing/top-ups/auto-top-ups.ts'
import { findCard } from '../../store/billing/top-ups/wallet-cards.ts'
import type { Db } from '../../store/database.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { route } from '../route.ts'
import { throttle } from '../throttle.ts'
import type { World } from '../world.ts'

const INVOICES_PER_MINUTE = 30

export function topUpRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/auto-top-up', ({ db, project }) => describe(world, db, project.id))

  route(app, world, 'PUT /api/projects/:project/auto-top-up', async ({ db, actor, project, body }) => {
    if (!world.installation.canPay)
      throw conflict('Payments are not set up on this installation. Ask its operator to add credit.')
    const { thresholdNanos: threshold, amountNanos: amount, monthMaxNanos: monthMax } = body
    await changeAutoTopUp(db, actor, { project, chosen: { threshold, amount, monthMax } })
    return { done: true as const }
  })

  route(app, world, 'DELETE /api/projects/:project/auto-top-up', async ({ db, actor, project }) => {
    await switchAutoTopUpOff(db, actor, { project })
    return { done: true as const }
  })

  route(app, world, 'DELETE /api/projects/:project/card', async ({ db, actor, project }) => {
    await removeSavedCard(db, actor, { project })
    return { done: true as const }
  })

  route(app, world, 'GET /api/projects/:project/top-ups', async ({ db, project, query }) => {
    const rows = await listTopUps(db, project.id, { after: query.after, most: query.limit + 1 })
    const shown = rows.slice(0, query.limit)
    return {
      items: shown.map((row) => ({
        id: row.session_id,
        createdAt: row.created_at,
        amountNanos: row.amount_nanos,
        taxNanos: row.tax_nanos,
        isAutomatic: row.is_automatic,
        state: topUpStateOf(row.state, row.is_automatic),
        failure: row.failure,
      })),
      next: rows.length > shown.length ? (shown.at(-1)?.session_id ?? null) : null,
    }
  })

  route(app, world, 'GET /api/projects/:project/top-ups/:payment/invoice', (call) => findInvoice(world, call))
}

async function describe(world: World, db: Db, projectId: string) {
  const card = await findCard(db, projectId)
  const settings = await findAutoTopUp(db, projectId)
  const charged = await sumThisMonth(db, projectId)
  return {
    card: card ?? null,
    settings: settings
      ? {
          thresholdNanos: settings.threshold,
          amountNanos: settings.amount,
          monthMaxNanos: settings.monthMax,
          pausedAt: settings.pausedAt,
          nextTryAt: settings.nextTryAt,
        }
      : null,
    chargedThisMonthNanos: charged,
    leftThisMonthNanos: settings ? leftOfMonth(settings.monthMax, charged) : null,
    hasTax: world.stripe?.hasTax ?? false,
  }
}

async function findInvoice(
  world: World,
  { project, params, inTenant }: ConsoleRequest<'GET /api/projects/:project/top-ups/:payment/invoice'>,
) {
  await throttle(world.db, [{ subject: `invoices/${project.id}`, most: INVOICES_PER_MINUTE }])
  const payment = await inTenant((tx) => findPaid(tx, project.id, params.payment))
  if (payment?.payment_intent == null || !world.stripe) throw notThere('payment')
  const sessionId = payment.is_automatic ? undefined : params.payment
  const paper = await findPaper(world.stripe, { sessionId, paymentIntent: payment.payment_intent }).catch(
    (error: unknown) => {
      const message = 'Stripe did not say where the invoice is. Try again in a moment.'
      throw new ParleyError('upstream_failed', { message, details: { reason: problemWithStripe(error) } })
    },
  )
  if (!paper) throw notThere('payment')
  return paper
}
