import type { Log } from '../../platform/log.ts'
import type { OneByOne } from '../../platform/one-by-one.ts'
import { uuidv7 } from '../../platform/uuid.ts'
import { afterDecline, fitsInMonth, isResting, ON_ITS_WAY_MS, SAME_KEY_MS } from '../../rules/billing/auto-top-ups.ts'
import {
  insertTopUp,
  isStillDue,
  isStillWanted,
  listDueTopUps,
  listPendingTopUps,
  lockAutoTopUp,
  markFailed,
  setStanding,
  setTax,
  setUntold,
  sumThisMonth,
  type PendingTopUp,
} from '../../store/billing/top-ups/auto-top-ups.ts'
import { findCard, forgetCard, listRemovedCards } from '../../store/billing/top-ups/wallet-cards.ts'
import type { Db } from '../../store/database.ts'
import { applyPaymentEvent, isRejection } from './payments.ts'
import { calculateTax, chargeCard, detachCard, findCharge, type ChargeAnswer } from './stripe-cards.ts'
import type { StripeAccount } from './stripe.ts'

/**
 * Charges saved cards. What is to be charged is written down first, then Stripe is asked under that name, then the answer is
 * applied: whoever finds a payment without an answer, after a crash or beside another worker, asks the very same again, and
 * gets the first answer. The webhook may have applied it by then; a payment becomes credit once, whoever tells of it.
 */

const TOP_UPS_PER_RUN = 100
const CARDS_PER_RUN = 100

/** Where it is charged and booked. */
export interface Till {
  db: Db
  account: StripeAccount
  log: Log
}

/** Returns a sentence for each payment and card that waits because Stripe has not answered. */
export async function chargeCards(till: Till, oneByOne: OneByOne): Promise<string[]> {
  const { db, account } = till
  await oneByOne.each(await listDueTopUps(db, TOP_UPS_PER_RUN), async ({ projectId }) => {
    await beginTopUp(db, projectId)
  })
  const problems: string[] = []
  await oneByOne.each(await listPendingTopUps(db, TOP_UPS_PER_RUN), async (topUp) => {
    const problem = await finishTopUp(till, topUp)
    if (problem !== undefined) problems.push(problem)
  })
  await oneByOne.each(await listRemovedCards(db, CARDS_PER_RUN), async (paymentMethod) => {
    const problem = await detachCard(account, paymentMethod)
    if (problem === undefined) await forgetCard(db, paymentMethod)
    else problems.push(problem)
  })
  return problems
}

/** Writes down what is to be charged, if it still is: false when the month has no room for it, or somebody was faster. */
export async function beginTopUp(db: Db, projectId: string): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    const settings = await lockAutoTopUp(tx, projectId)
    const card = await findCard(tx, projectId)
    // Another worker may have been declined since this one saw that it is due.
    if (!settings || !card || isResting(settings, new Date())) return false
    if (!(await isStillDue(tx, projectId, settings.threshold))) return false
    if (!fitsInMonth(settings, await sumThisMonth(tx, projectId))) return false
    const { customer, paymentMethod } = card
    await insertTopUp(tx, { id: `auto_${uuidv7()}`, projectId, amount: settings.amount, customer, paymentMethod })
    return true
  })
}

/** Undefined when its end is known, or will be without anybody's doing. */
export async function finishTopUp(till: Till, topUp: PendingTopUp): Promise<string | undefined> {
  const { db, account } = till
  const answer = await askStripe(db, account, topUp)
  switch (answer.state) {
    case 'paid':
      await applyPaid(till, topUp, answer)
      return undefined
    case 'declined':
      await applyDecline(db, topUp, answer.reason)
      return undefined
    case 'never_asked':
      await markFailed(db, topUp.id, 'Stripe could not be reached. Nothing was charged.')
      return undefined
    case 'on_its_way':
      return undefined
    case 'unknown':
      return answer.why
  }
}

async function applyPaid(
  { db, log }: Till,
  topUp: PendingTopUp,
  paid: ChargeAnswer & { state: 'paid' },
): Promise<void> {
  const { state: type, ...told } = paid
  const verdict = await applyPaymentEvent(db, { type, sessionId: topUp.id, ...told })
  // Said once: until the operator has mended it, every run finds the payment again.
  if (!isRejection(verdict) || topUp.problem !== null) return
  const { projectId, id: payment } = topUp
  log.error(
    { projectId, payment, paymentIntent: paid.paymentIntent, verdict },
    'a card was charged, nothing is credited',
  )
}

type Answer = ChargeAnswer | { state: 'never_asked' } | { state: 'on_its_way' }

async function askStripe(db: Db, account: StripeAccount, topUp: PendingTopUp): Promise<Answer> {
  const ageMs = Date.now() - topUp.createdAt.getTime()
  // A card that was withdrawn while Stripe was away must not be charged when it returns.
  if (ageMs > SAME_KEY_MS || !(await isStillWanted(db, topUp))) return lookFor(account, topUp, ageMs)
  const calculated = account.hasTax ? await calculateTax(account, topUp) : { tax: undefined }
  if ('answer' in calculated) return calculated.answer
  const { tax } = calculated
  // Before the card is charged: whoever tells of the payment must know what of it is credit.
  // Also when there is none: there may have been some when it was tried before.
  await setTax(db, topUp.id, tax?.amount ?? 0n)
  const answer = await chargeCard(account, topUp, tax)
  // Stripe repeats an internal error, too, although it may have charged.
  if (answer.state !== 'unknown') return answer
  const found = await findCharge(account, topUp)
  // A payment that is not paid may still be on its way there.
  return found?.state === 'paid' ? found : answer
}

/** Looks up the outcome of a payment that must not be requested again. */
async function lookFor(account: StripeAccount, topUp: PendingTopUp, ageMs: number): Promise<Answer> {
  const found = await findCharge(account, topUp)
  if (found?.state === 'paid' || found?.state === 'unknown') return found
  // Another worker may have asked just before: its request would charge a card whose payment has ended here.
  if (ageMs < ON_ITS_WAY_MS) return { state: 'on_its_way' }
  return found ?? { state: 'never_asked' }
}

async function applyDecline(db: Db, { id, projectId }: PendingTopUp, reason: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // Another worker asked the same and has counted this decline.
    if (!(await markFailed(tx, id, reason))) return
    const settings = await lockAutoTopUp(tx, projectId)
    if (!settings) return
    await setStanding(tx, projectId, afterDecline(settings.declines, new Date()))
    await setUntold(tx, projectId, reason)
  })
}
