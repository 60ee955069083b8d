/**
 * Somebody who pays by card and takes the money back: refunds and disputes, some of them won by the operator, some lost
 * after all, and refunds of what is disputed, while calls spend what was paid. The payment provider tells of each late, twice or out of order, and repeats what was not answered.
 * In the end everything is disputed, so that what was spent is owed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { applyPaymentEvent } from '../../src/actions/billing/payments.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import {
  nanosOfCents,
  PAYMENT_CURRENCY,
  RETURN_STAGES,
  type PaymentEvent,
  type PaymentReturn,
  type ReturnKind,
} from '../../src/rules/billing/payments.ts'
import type { Store } from '../../src/store/database.ts'
import { insertPayment } from '../../src/store/billing/payments.ts'
import { createRandom, type Random } from '../support/random.ts'
import { walletOf } from '../support/world.ts'
import type { Funding } from './oracle.ts'
import { patiently } from './wallets.ts'

export interface Payer {
  readonly counts: Record<'paid' | 'refunded' | 'disputed' | 'crossed' | 'reinstated' | 'lost' | 'owed', number>
  /** Resolves when everything that was paid has been taken back. */
  stop(): Promise<void>
}

interface Payment {
  projectId: string
  sessionId: string
  paymentIntent: string
  amount: bigint
  /** The amount that each return in force gives back to the payer. */
  returns: Map<string, bigint>
  /** The part that the wallet still has: the amount less the returns, at least zero. */
  left: bigint
}

const LOOK_EVERY_MS = 500
/** A cent pays for about eighty calls. Who keeps more than that can take back everything and owe nothing. */
const CENTS_MAX = 2
const PAYS_BELOW = nanosOfCents(1) / 2n
/** Longer than most calls take, so that some of what is taken back is spent, and some is held. */
const TAKEN_BACK_WITHIN_MS = 4_000
const DECIDED_WITHIN_MS = 2_000

export function startPayer(store: Store, projectId: string, seed: number, funding: Funding[]): Payer {
  const random = createRandom(seed + 11)
  const counts = { paid: 0, refunded: 0, disputed: 0, crossed: 0, reinstated: 0, lost: 0, owed: 0 }
  const payments: Payment[] = []
  const running: Promise<void>[] = []
  let isOver = false
  const tell = (event: PaymentEvent) => tellOf(store, event, random)

  async function takeBack(payment: Payment, back: PaymentReturn): Promise<void> {
    if ((await tell({ type: 'returned', ...back })) === 'owed') counts.owed += 1
    payment.returns.set(back.id, back.amount)
    keepBooks(payment, funding)
  }

  /** While it is disputed, so that there is nothing to take, or just when the dispute ends. */
  async function refund(payment: Payment): Promise<void> {
    await sleep(random.int(DECIDED_WITHIN_MS))
    await takeBack(payment, returnOf(payment, 'refund', random.int(2) === 0 ? nanosOfCents(1) : payment.amount))
    counts.crossed += 1
  }

  async function decide(payment: Payment, dispute: PaymentReturn): Promise<void> {
    await sleep(random.int(DECIDED_WITHIN_MS))
    const won = { ...dispute, toldAt: new Date(), stage: RETURN_STAGES.disputeClosed }
    await tell({ type: 'reinstated', ...won })
    counts.reinstated += 1
    payment.returns.delete(dispute.id)
    keepBooks(payment, funding)
    if (random.int(4) > 0) return
    await takeBack(payment, { ...won, toldAt: new Date(won.toldAt.getTime() + 1) })
    counts.lost += 1
    if (random.int(2) === 0) await tell({ type: 'reinstated', ...won }) // Once more, long after it was true.
  }

  async function pay(): Promise<void> {
    const payment = await openPayment(store, projectId, nanosOfCents(1 + random.int(CENTS_MAX)))
    payments.push(payment)
    const kind = random.int(3) === 0 ? 'refund' : 'chargeback'
    const back = returnOf(payment, kind, random.int(8) === 0 ? nanosOfCents(1) : payment.amount)
    const isReturned = random.int(5) > 0
    if (isReturned && random.int(8) === 0) await tell({ type: 'returned', ...back }) // Told of before its payment.
    await tell({ type: 'paid', ...payment, tax: 0n, currency: PAYMENT_CURRENCY })
    counts.paid += 1
    keepBooks(payment, funding)
    if (!isReturned) return
    await sleep(random.int(TAKEN_BACK_WITHIN_MS))
    await takeBack(payment, back)
    counts[kind === 'refund' ? 'refunded' : 'disputed'] += 1
    if (kind === 'refund') return
    await Promise.all([random.int(2) === 0 && refund(payment), random.int(4) > 0 && decide(payment, back)])
  }

  const loop = (async () => {
    while (!isOver) {
      const { balance } = await patiently(() => walletOf(store, projectId))
      if (balance < PAYS_BELOW || random.int(4) === 0) running.push(pay())
      await sleep(LOOK_EVERY_MS)
    }
  })()
  return {
    counts,
    async stop() {
      isOver = true
      await loop
      await Promise.all(running)
      for (const payment of payments)
        if (payment.left > 0n) await takeBack(payment, returnOf(payment, 'chargeback', payment.left))
    },
  }
}

/** Books the part of the payment that the wallet keeps in the end, whatever events arrived and in whatever order. */
function keepBooks(payment: Payment, funding: Funding[]): void {
  const returned = [...payment.returns.values()].reduce((sum, nanos) => sum + nanos, 0n)
  const left = returned < payment.amount ? payment.amount - returned : 0n
  funding.push({ projectId: payment.projectId, nanos: left - payment.left })
  payment.left = left
}

function returnOf({ paymentIntent }: Payment, kind: ReturnKind, amount: bigint): PaymentReturn {
  const id = kind === 'refund' ? `ch_${uuidv7()}` : `dp_${uuidv7()}`
  const stage = kind === 'refund' ? RETURN_STAGES.refund : RETURN_STAGES.dispute
  return { id, paymentIntent, kind, amount, currency: PAYMENT_CURRENCY, toldAt: new Date(), stage }
}

/** Returns Parley's verdict on an event. The provider sends a third of all events twice, at the same moment. */
async function tellOf(store: Store, event: PaymentEvent, random: Random) {
  const times = random.int(3) === 0 ? 2 : 1
  const verdicts = await Promise.all(
    Array.from({ length: times }, () => patiently(() => applyPaymentEvent(store.db, event))),
  )
  return verdicts.find((verdict) => verdict !== 'unchanged') ?? 'unchanged'
}

async function openPayment(store: Store, projectId: string, amount: bigint): Promise<Payment> {
  const [sessionId, paymentIntent] = [`cs_${uuidv7()}`, `pi_${uuidv7()}`]
  await patiently(() => insertUnlessKnown(store, { sessionId, projectId, amount, currency: PAYMENT_CURRENCY }))
  return { projectId, sessionId, paymentIntent, amount, returns: new Map(), left: 0n }
}

/** The answer to an insert may be lost with the connection. */
async function insertUnlessKnown(store: Store, payment: Parameters<typeof insertPayment>[1]): Promise<void> {
  await insertPayment(store.db, payment).catch((error: unknown) => {
    if ((error as { code?: string }).code !== '23505') throw error
  })
}
