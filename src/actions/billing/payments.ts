import { uuidv7 } from '../../platform/uuid.ts'
import { NO_DECLINES } from '../../rules/billing/auto-top-ups.ts'
import { mismatchOf, PAYMENT_CURRENCY, type PaymentEvent } from '../../rules/billing/payments.ts'
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
    case 'expired':
      return (await markExpired(db, event.sessionId)) ? 'expired' : 'unchanged'
  }
}

async function applyPaid(tx: Tx, event: EventOf<'paid'>): Promise<Verdict> {
  const { sessionId, paymentIntent } = event
  await lockPaymentIntent(tx, paymentIntent)
  const payment = await lockPayment(tx, sessionId)
  if (!payment) return 'unknown_session'
  if (payment.payment_intent === paymentIntent) return 'unchanged'
  const asked = { amount: payment.amount_nanos, currency: payment.currency }
  // Tax is not credit: it is the state's.
  const tax = event.tax ?? payment.tax_nanos
  const credit = { amount: event.amount - tax, currency: event.currency }
  const mismatch = payment.payment_intent === null ? mismatchOf(asked, credit) : 'wrong_payment'
  if (mismatch !== undefined) {
    await noteProblem(tx, sessionId, `${mismatch}: ${paymentIntent} is of ${event.amount} nanos ${event.currency}`)
    return mismatch
  }
  await markPaid(tx, sessionId, paymentIntent, tax)
  await creditPayment(tx, uuidv7(), sessionId)
  await settleReturns(tx, paymentIntent)
  if (payment.is_automatic) await setStanding(tx, payment.project_id, NO_DECLINES)
  await postTopUp(tx, payment.project_id, payment.amount_nanos, 'payment')
  return 'credited'
}

async function applyReturned(tx: Tx, event: EventOf<'returned' | 'reinstated'>): Promise<Verdict> {
  const { id, paymentIntent } = event
  await lockPaymentIntent(tx, paymentIntent)
  const payment = await findPaymentByIntent(tx, paymentIntent)
  if (event.currency !== PAYMENT_CURRENCY) {
    if (!payment) return 'unchanged'
    await noteProblem(tx, payment.session_id, `wrong_currency: ${id} is in ${event.currency}`)
    return 'wrong_currency'
  }
  if (!(await rememberReturn(tx, event, event.type === 'reinstated'))) return 'unchanged'
  if (!payment) return 'remembered'
  const { taken, owed, absorbed, givenBack } = await settleReturns(tx, paymentIntent)
  if (givenBack > taken) return 'given_back'
  if (absorbed > 0n) return 'absorbed'
  return taken === givenBack ? 'unchanged' : owed > 0n ? 'owed' : 'taken_back'
}
