/**
 * Somebody who pays by card and takes the money back: refunds and disputes, some of them won by the operator, while calls
 * spend what was paid. The payment provider tells of each late, twice or out of order, and repeats what was not answered.
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
  /** Resolves when everything that was paid has come to its end. */
  stop(): Promise<void>
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
  const running: Promise<void>[] = []
  let isOver = false

  async function pay(): Promise<void> {
    const paymentIntent = `pi_${uuidv7()}`
    const sessionId = `cs_${uuidv7()}`
    const amount = nanosOfCents(1 + random.int(CENTS_MAX))
    await patiently(() => insertUnlessKnown(store, { sessionId, projectId, amount, currency: PAYMENT_CURRENCY }))
    const tell = (event: PaymentEvent) => tellOf(store, event, random)
    const paid: PaymentEvent = { type: 'paid', sessionId, paymentIntent, amount, currency: PAYMENT_CURRENCY }
    const isReturned = random.int(5) > 0
    const kind: ReturnKind = random.int(3) === 0 ? 'refund' : 'chargeback'
    const part = random.int(8) === 0 ? nanosOfCents(1) : amount
    const id = kind === 'refund' ? `ch_${uuidv7()}` : `dp_${uuidv7()}`
    const back = { id, paymentIntent, kind, amount: part, currency: PAYMENT_CURRENCY }

    // Now and then the return is told of first.
    const isEarly = isReturned && random.int(8) === 0
    if (isEarly) await tell({ type: 'returned', ...back })
    await tell(paid)
    counts.paid += 1
    funding.push({ projectId, nanos: amount })
    if (!isReturned) return
    await sleep(random.int(TAKEN_BACK_WITHIN_MS))
    if ((await tell({ type: 'returned', ...back })) === 'owed') counts.owed += 1
    counts[kind === 'refund' ? 'refunded' : 'disputed'] += 1
    funding.push({ projectId, nanos: -part })
    if (kind === 'refund' || random.int(2) === 0) return
    await sleep(random.int(DECIDED_WITHIN_MS))
    await tell({ type: 'reinstated', ...back })
    counts.reinstated += 1
    funding.push({ projectId, nanos: part })
    if (random.int(8) === 0) return
    await sleep(random.int(DECIDED_WITHIN_MS))
    const refund = { ...back, id: `ch_${uuidv7()}`, kind: 'refund' as const, amount }
    if ((await tell({ type: 'returned', ...refund })) === 'owed') counts.owed += 1
    counts.refunded += 1
    funding.push({ projectId, nanos: -amount })
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
    },
  }
}

/** The answer to the first time that was answered; a third of all events come twice, at the same moment. */
async function tellOf(store: Store, event: PaymentEvent, random: Random) {
  const times = random.int(3) === 0 ? 2 : 1
  const [first] = await Promise.all(
    Array.from({ length: times }, () => patiently(() => applyPaymentEvent(store.db, event))),
  )
  return first
}

/** The answer to an insert may be lost with the connection. */
async function insertUnlessKnown(store: Store, payment: Parameters<typeof insertPayment>[1]): Promise<void> {
  await insertPayment(store.db, payment).catch((error: unknown) => {
    if ((error as { code?: string }).code !== '23505') throw error
  })
}
