import { uuidv7 } from '../../platform/uuid.ts'
import { NO_DECLINES } from '../../rules/billing/auto-top-ups.ts'
import { mismatchOf, PAYMENT_CURRENCY, type PaymentEvent } from '../../rules/billing/payments.ts'
import type { Nanos } from '../../rules/money.ts'
import type { Db, Tx } from '../../store/database.ts'
import {
  creditPayment,
  findPaymentByIntent,
  lockPayment,
  lockPaymentIntent,
  markExpired,
  markPaid,
  noteProblem,
  rememberReturn,
  settleReturns,
} from '../../store/billing/payments.ts'
import * as advertisers from '../../store/billing/advertiser-payments.ts'
import { setStanding } from '../../store/billing/top-ups/auto-top-ups.ts'
import { postTopUp } from './wallets.ts'

/**
 * Payments become credit here. Events come twice, late, and in any order, so each is applied to what is known and not to
 * the event before it; whatever their order, a payment is credited once and what went back is taken back once.
 */

/** Why an event that Stripe did sign changed nothing although it says that money moved. */
const REJECTIONS = ['unknown_session', 'wrong_payment', 'wrong_amount', 'wrong_currency'] as const
type Rejection = (typeof REJECTIONS)[number]

export type Verdict =
  | Rejection
  | 'credited'
  | 'expired'
  | 'taken_back'
  | 'owed'
  | 'absorbed'
  | 'given_back'
  | 'remembered'
  | 'unchanged'

export function isRejection(verdict: Verdict): verdict is Rejection {
  return (REJECTIONS as readonly Verdict[]).includes(verdict)
}

type EventOf<Type extends PaymentEvent['type']> = Extract<PaymentEvent, { type: Type }>

export async function applyPaymentEvent(db: Db, event: PaymentEvent): Promise<Verdict> {
  switch (event.type) {
    case 'paid':
      return db.transaction().execute((tx) => applyPaid(tx, event))
    case 'returned':
    case 'reinstated':
      return db.transaction().execute((tx) => applyReturned(tx, event))
    case 'expired': {
      const { sessionId } = event
      const isKnown = await markExpired(db, sessionId)
      return isKnown || (await advertisers.markAdvertiserPaymentExpired(db, sessionId)) ? 'expired' : 'unchanged'
    }
  }
}

async function applyPaid(tx: Tx, event: EventOf<'paid'>): Promise<Verdict> {
  const { sessionId, paymentIntent } = event
  await lockPaymentIntent(tx, paymentIntent)
  const payment = await lockPayment(tx, sessionId)
  if (!payment) return applyPaidByAdvertiser(tx, event)
  if (payment.payment_intent === paymentIntent) return 'unchanged'
  const tax = event.tax ?? payment.tax_nanos
  const mismatch = mismatchWith(payment, event, tax)
  if (mismatch !== undefined) {
    await noteProblem(tx, sessionId, problemOf(mismatch, event))
    return mismatch
  }
  await markPaid(tx, sessionId, paymentIntent, tax)
  await creditPayment(tx, uuidv7(), sessionId)
  await settleReturns(tx, paymentIntent)
  if (payment.is_automatic) await setStanding(tx, payment.project_id, NO_DECLINES)
  await postTopUp(tx, payment.project_id, payment.amount_nanos, 'payment')
  return 'credited'
}

/** The same for the payment of an advertiser, which no card is charged for by itself. */
async function applyPaidByAdvertiser(tx: Tx, event: EventOf<'paid'>): Promise<Verdict> {
  const { sessionId, paymentIntent } = event
  const payment = await advertisers.lockAdvertiserPayment(tx, sessionId)
  if (!payment) return 'unknown_session'
  if (payment.payment_intent === paymentIntent) return 'unchanged'
  const tax = event.tax ?? payment.tax_nanos
  const mismatch = mismatchWith(payment, event, tax)
  if (mismatch !== undefined) {
    await advertisers.noteAdvertiserProblem(tx, sessionId, problemOf(mismatch, event))
    return mismatch
  }
  await advertisers.markAdvertiserPaid(tx, sessionId, paymentIntent, tax)
  await advertisers.creditAdvertiserPayment(tx, uuidv7(), sessionId)
  await advertisers.settleAdvertiserReturns(tx, paymentIntent)
  return 'credited'
}

interface KnownPayment {
  amount_nanos: Nanos
  currency: string
  payment_intent: string | null
}

/** Why what was paid is not what was asked for. Tax is not credit: it is the state's. */
function mismatchWith(payment: KnownPayment, event: EventOf<'paid'>, tax: Nanos) {
  if (payment.payment_intent !== null) return 'wrong_payment'
  const asked = { amount: payment.amount_nanos, currency: payment.currency }
  return mismatchOf(asked, { amount: event.amount - tax, currency: event.currency })
}

function problemOf(mismatch: string, { paymentIntent, amount, currency }: EventOf<'paid'>): string {
  return `${mismatch}: ${paymentIntent} is of ${amount} nanos ${currency}`
}

async function applyReturned(tx: Tx, event: EventOf<'returned' | 'reinstated'>): Promise<Verdict> {
  const { id, paymentIntent } = event
  await lockPaymentIntent(tx, paymentIntent)
  const ofProject = await findPaymentByIntent(tx, paymentIntent)
  const ofAdvertiser = ofProject ? undefined : await advertisers.findAdvertiserPaymentByIntent(tx, paymentIntent)
  const payment = ofProject ?? ofAdvertiser
  if (event.currency !== PAYMENT_CURRENCY) {
    if (!payment) return 'unchanged'
    const note = ofAdvertiser ? advertisers.noteAdvertiserProblem : noteProblem
    await note(tx, payment.session_id, `wrong_currency: ${id} is in ${event.currency}`)
    return 'wrong_currency'
  }
  if (!(await rememberReturn(tx, event, event.type === 'reinstated'))) return 'unchanged'
  if (!payment) return 'remembered'
  const settle = ofAdvertiser ? advertisers.settleAdvertiserReturns : settleReturns
  const { taken, owed, absorbed, givenBack } = await settle(tx, paymentIntent)
  if (givenBack > taken) return 'given_back'
  if (absorbed > 0n) return 'absorbed'
  return taken === givenBack ? 'unchanged' : owed > 0n ? 'owed' : 'taken_back'
}
