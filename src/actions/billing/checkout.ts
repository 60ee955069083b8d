import { PAYMENT_CURRENCY } from '../../rules/billing/payments.ts'
import { formatCredits, type Nanos } from '../../rules/money.ts'
import { insertAdvertiserPayment } from '../../store/billing/advertiser-payments.ts'
import { insertPayment } from '../../store/billing/payments.ts'
import type { Tx } from '../../store/database.ts'
import type { Actor } from '../actor.ts'
import { auditAdvertiser, auditProject, type ProjectAtHand } from '../audit.ts'
import { refuseInSandbox } from '../sandbox.ts'
import { createCheckoutSession, type StripeAccount } from './stripe.ts'

export interface Checkout {
  project: ProjectAtHand
  amount: Nanos
  savesCard?: boolean
  stripe: StripeAccount
  successUrl: string
  cancelUrl: string | undefined
}

/**
 * Asks the payment provider for a page. The page is told only when its payment is known here: nobody can pay for what nobody
 * would credit. `inTransaction` opens one when the provider has answered, so that none waits for the network.
 */
export async function openCheckout(
  inTransaction: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>,
  actor: Actor,
  { project, amount, savesCard = false, stripe, successUrl, cancelUrl }: Checkout,
): Promise<{ sessionId: string; url: string }> {
  await inTransaction((tx) => refuseInSandbox(tx, project, 'topUp'))
  const order = { payer: { project: project.id }, amount, savesCard, successUrl, cancelUrl }
  const session = await createCheckoutSession(stripe, order)
  await inTransaction(async (tx) => {
    const { sessionId } = session
    await insertPayment(tx, { projectId: project.id, amount, sessionId, savesCard, currency: PAYMENT_CURRENCY })
    const details = { amount: formatCredits(amount), checkout: sessionId }
    await auditProject(tx, actor, project, 'wallet.checkout_opened', { details })
  })
  return session
}

export interface AdvertiserCheckout {
  advertiser: { id: string; name: string }
  amount: Nanos
  stripe: StripeAccount
  successUrl: string
  cancelUrl: string
}

/** The same for the wallet of an advertiser. */
export async function openAdvertiserCheckout(
  inTransaction: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>,
  actor: Actor,
  { advertiser, amount, stripe, successUrl, cancelUrl }: AdvertiserCheckout,
): Promise<{ sessionId: string; url: string }> {
  const { id: advertiserId, name } = advertiser
  const order = { payer: { advertiser: advertiserId }, amount, savesCard: false, successUrl, cancelUrl }
  const session = await createCheckoutSession(stripe, order)
  await inTransaction(async (tx) => {
    const { sessionId } = session
    await insertAdvertiserPayment(tx, { sessionId, advertiserId, amount, currency: PAYMENT_CURRENCY })
    const details = { amount: formatCredits(amount), checkout: sessionId }
    await auditAdvertiser(tx, actor, advertiserId, 'wallet.checkout_opened', { subject: name, details })
  })
  return session
}
