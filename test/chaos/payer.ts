/**
 * Somebody who pays by card and takes the money back: refunds and disputes, some of them won by the operator, while calls
 * spend what was paid. The payment provider tells of each late, twice or out of order, and repeats what was not answered.
 * In the end everything is disputed, so that what was spent is owed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { applyPaymentEvent } from '../../src/console/payments.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { nanosOfCents, PAYMENT_CURRENCY, type PaymentEvent, type ReturnKind } from '../../src/rules/payments.ts'
import type { Store } from '../../src/store/database.ts'
import { insertPayment } from '../../src/store/payments.ts'
import { createRandom, type Random } from '../support/random.ts'
import { walletOf } from '../support/world.ts'
import type { Funding } from './oracle.ts'
import { patiently } from './wallets.ts'

export interface Payer {
  readonly counts: Record<'paid' | 'refunded' | 'disputed' | 'reinstated' | 'owed', number>
  /** Resolves when everything that was paid has been taken back. */
  stop(): Promise<void>
}

interface Payment {
  paymentIntent: string
  amount: bigint
  /** What was not taken back of it. */
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
  const counts = { paid: 0, refunded: 0, disputed: 0, reinstated: 0, owed: 0 }
  const payments: Payment[] = []
  const running: Promise<void>[] = []
  let isOver = false
  const tell = (event: PaymentEvent) => tellOf(store, event, random)

  function move(payment: Payment, nanos: bigint): void {
    payment.left += nanos
    funding.push({ projectId, nanos })
  }

  async function takeBack(payment: Payment, back: ReturnType<typeof returnOf>): Promise<void> {
    if ((await tell({ type: 'returned', ...back })) === 'owed') counts.owed += 1
    counts[back.kind === 'refund' ? 'refunded' : 'disputed'] += 1
    move(payment, -back.amount)
  }

  async function pay(): Promise<void> {
    const [sessionId, paymentIntent] = [`cs_${uuidv7()}`, `pi_${uuidv7()}`]
    const asked = { amount: nanosOfCents(1 + random.int(CENTS_MAX)), currency: PAYMENT_CURRENCY }
    await patiently(() => insertUnlessKnown(store, { sessionId, projectId, ...asked }))
    const payment = { paymentIntent, amount: asked.amount, left: 0n }
    payments.push(payment)
    const kind = random.int(3) === 0 ? 'refund' : 'chargeback'
    const back = returnOf(payment, kind, random.int(8) === 0 ? nanosOfCents(1) : payment.amount)
    const isReturned = random.int(5) > 0
    if (isReturned && random.int(8) === 0) await tell({ type: 'returned', ...back }) // Told of before its payment.
    await tell({ type: 'paid', sessionId, paymentIntent, ...asked })
    counts.paid += 1
    move(payment, payment.amount)
    if (!isReturned) return
    await sleep(random.int(TAKEN_BACK_WITHIN_MS))
    await takeBack(payment, back)
    if (kind === 'refund' || random.int(2) === 0) return
    await sleep(random.int(DECIDED_WITHIN_MS))
    await tell({ type: 'reinstated', ...back })
    counts.reinstated += 1
    move(payment, back.amount)
  }

  const loop = (async () => {
    while (!isOver) {
      const { balance } = await patiently(() => walletOf(store, projectId))
      if (balance < PAYS_BELOW) running.push(pay())
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

function returnOf({ paymentIntent }: Payment, kind: ReturnKind, amount: bigint) {
  const id = kind === 'refund' ? `ch_${uuidv7()}` : `dp_${uuidv7()}`
  return { id, paymentIntent, kind, amount, currency: PAYMENT_CURRENCY }
}

/** What the provider is answered; it tells of a third of all events twice, at the same moment. */
async function tellOf(store: Store, event: PaymentEvent, random: Random) {
  const times = random.int(3) === 0 ? 2 : 1
  const verdicts = await Promise.all(
    Array.from({ length: times }, () => patiently(() => applyPaymentEvent(store.db, event))),
  )
  return verdicts.find((verdict) => verdict !== 'unchanged') ?? 'unchanged'
}

/** The answer to an insert may be lost with the connection. */
async function insertUnlessKnown(store: Store, payment: Parameters<typeof insertPayment>[1]): Promise<void> {
  await insertPayment(store.db, payment).catch((error: unknown) => {
    if ((error as { code?: string }).code !== '23505') throw error
  })
}
